import { join } from "node:path";
import { outputsOf, type RunState } from "../../journal/state.ts";
import { temporaryTag } from "../../kit/durable-file.ts";
import { ownVersion } from "../../kit/own-version.ts";
import { measureBytes } from "../media/media-files.ts";
import type { MediaStore } from "../media/media-store.ts";
import { openNamedFile } from "../media/open-file.ts";
import { plannedMark } from "../provenance/planned-mark.ts";
import { manifestName, manifestOf, placeManifests } from "../provenance/provenance.ts";

interface ExpectedFile {
  readonly name: string;
  /** Of the file once it is placed; a mark makes it another than that of its output. */
  readonly placedSha256: string;
}

/**
 * The folder below `outDir` that the run's files go to: none, or one of its own name where files of somebody else have these
 * names, as their manifests say, or other bytes where there is none.
 */
export async function folderFor(state: RunState, copies: readonly ExpectedFile[]): Promise<string> {
  const { runId, planned, files } = state;
  const folder = `${runId}/`;
  if (files.some(({ file }) => file.startsWith(folder))) return folder;
  const placed = new Set(files.map(({ file }) => file));
  for (const { name, placedSha256 } of copies) {
    const maker = await makerOf(planned.outDir, name);
    if (maker !== null && maker !== runId) return folder;
    if (maker !== null || placed.has(name)) continue;
    const there = await hashOf(planned.outDir, name);
    if (there !== null && there !== placedSha256 && !isOfRun(state, there)) return folder;
  }
  return "";
}

/** Of the bytes that a file of this name holds; null where there is none. */
async function hashOf(outDir: string, name: string): Promise<string | null> {
  try {
    await using there = await openNamedFile(join(outDir, name), [outDir]);
    return (await measureBytes(there.file.createReadStream({ autoClose: false }))).sha256;
  } catch {
    return null;
  }
}

/** Whether the run made these bytes, in whichever attempt. */
function isOfRun({ steps }: RunState, sha256: string): boolean {
  return Object.values(steps).some(({ attempts, outputs }) =>
    [...(outputs ?? []), ...attempts.flatMap((attempt) => attempt.outputs)].some(({ copy }) => copy?.sha256 === sha256),
  );
}

const MOST_BYTES = 1024 * 1024;

/** The run that the manifest of a file names; null without one. */
async function makerOf(outDir: string, name: string): Promise<string | null> {
  try {
    await using manifest = await openNamedFile(join(outDir, manifestName(name)), [outDir]);
    const { buffer, bytesRead } = await manifest.file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    const content: unknown = JSON.parse(buffer.toString("utf8", 0, bytesRead));
    return typeof content === "object" && content !== null && "run" in content && typeof content.run === "string"
      ? content.run
      : null;
  } catch {
    return null;
  }
}

/** Puts named files of a run that is over back, manifests beside them, where somebody removed them: their copies are kept. */
export async function placeAgain(state: RunState, media: MediaStore): Promise<void> {
  const { outDir, nonce, manifests } = state.planned;
  const tag = temporaryTag(nonce);
  for (const { step, index, file } of state.files) {
    if (await media.isPlaced(file, outDir)) continue;
    const stepState = state.steps[step];
    const output = stepState === undefined ? undefined : outputsOf(stepState)[index];
    const copy = output?.copy ?? null;
    if (copy === null || (await media.verify(copy.sha256)) !== "intact") continue;
    const marked = await plannedMark(state, { step, copy }, media);
    const named = { sha256: copy.sha256, name: file, ...(marked && { mark: marked.mark }) };
    await media.place([named], outDir, tag);
    if (manifests === false) continue;
    await placeManifests(
      outDir,
      [{ file, step, output: output!, marked }],
      (placed) => manifestOf(state, placed, ownVersion()),
      tag,
    );
  }
}
