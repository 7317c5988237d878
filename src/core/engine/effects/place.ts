import { join } from "node:path";
import type { RunEvent } from "../../journal/events.ts";
import { outputsOf, type RunState } from "../../journal/state.ts";
import { fileExtension } from "../../kit/file-name.ts";
import { temporaryTag } from "../../kit/files.ts";
import { LongWork } from "../../kit/long-work.ts";
import { ownVersion } from "../../kit/own-version.ts";
import { runOutcome } from "../../run/outcome.ts";
import type { NamedOutput } from "../../run/returned.ts";
import { measureBytes } from "../media/media-files.ts";
import type { MediaStore } from "../media/media-store.ts";
import { openNamedFile } from "../media/open-file.ts";
import { manifestName, manifestOf, placeManifests, plannedMark } from "../provenance/provenance.ts";
import { done } from "../service/service-answers.ts";
import type { Effect, EffectContext } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";

const RECORDED_AT_ONCE = 250;

export const place: Effect<"place"> = async (_command, context) => {
  const { media, state } = context;
  const { outDir, manifests } = state.planned;
  const tag = temporaryTag(state.planned.nonce);
  const ready: NamedOutput[] = [];
  // Deciding which files to place took long, so let other work run first.
  await new LongWork().pause(state.planned.plan.steps.length);
  let rest = done();
  for (const unplaced of runOutcome(state).toPlace) {
    const lacks = await withoutCopies([unplaced.output.copy!.sha256], context);
    if (rest.end === "done" && lacks !== null) rest = lacks;
    if (lacks === null) ready.push(unplaced);
  }
  const named: Awaited<ReturnType<typeof namedCopy>>[] = [];
  for (const unplaced of ready) named.push(await namedCopy(unplaced, context));
  const folder = await folderFor(state, named);
  const copies = named.map((file) => ({ ...file, name: `${folder}${file.name}` }));
  const files = await media.place(copies, outDir, tag);
  const placed = ready.map((unplaced, at) => ({ ...unplaced, marked: named[at]!.marked, file: files[at]! }));
  if (manifests !== false) await placeManifests(outDir, placed, (named) => manifestOf(state, named, ownVersion()), tag);
  const events = placed.map(({ name, step, output: { index }, file }): RunEvent => {
    const event = { type: "file.placed", name, step, index, file } as const;
    return manifests === false ? event : { ...event, manifest: manifestName(file) };
  });
  while (events.length > RECORDED_AT_ONCE) {
    context.emit(events.splice(0, RECORDED_AT_ONCE));
    await context.recorded();
  }
  return { ...rest, events: [...events, ...rest.events] };
};

async function namedCopy({ name, step, output: { copy } }: NamedOutput, { state, media }: EffectContext) {
  const { sha256, contentType } = copy!;
  const marked = await plannedMark(state, { step, copy: copy! }, media);
  const placedSha256 = marked?.preview.status === "marked" ? marked.preview.sha256 : sha256;
  const ending = fileExtension(contentType);
  // Subtitles whose name already has the extension are placed beside the film of that name.
  const file = name.toLowerCase().endsWith(ending) ? name : `${name}${ending}`;
  return { sha256, name: file, placedSha256, marked, ...(marked && { mark: marked.mark }) };
}

interface ExpectedFile {
  readonly name: string;
  readonly placedSha256: string;
}

/**
 * Returns the run's subfolder if one of the file names is already taken by another run or by different content;
 * otherwise an empty string.
 */
async function folderFor(state: RunState, copies: readonly ExpectedFile[]): Promise<string> {
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

async function hashOf(outDir: string, name: string): Promise<string | null> {
  try {
    await using there = await openNamedFile(join(outDir, name), [outDir]);
    return (await measureBytes(there.file.createReadStream({ autoClose: false }))).sha256;
  } catch {
    return null;
  }
}

function isOfRun({ steps }: RunState, sha256: string): boolean {
  return Object.values(steps).some(({ attempts, outputs }) =>
    [...(outputs ?? []), ...attempts.flatMap((attempt) => attempt.outputs)].some(({ copy }) => copy?.sha256 === sha256),
  );
}

const MOST_BYTES = 1024 * 1024;

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
