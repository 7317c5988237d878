import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { temporaryTag, writeDurably } from "../../core/kit/durable-file.ts";
import type { EditList, EditTake, MediaStore, RunState } from "../../internal.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import { type Context, journalOf, mediaOptionsOf } from "../context.ts";
import { writtenFile } from "../input/written-file.ts";
import type { Flags } from "../program/flags.ts";
import { otioTimeline, type TakeFacts } from "../report/otio.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

/** `showrunner export`: a run's clips, takes, sounds and captions as a timeline for editing programs, its media beside it. */
export async function exportRun(context: Context, runId: string, flags: Flags["export"]): Promise<ExitCode> {
  const { io, output } = context;
  if (flags.otio === undefined)
    throw new CliError("USAGE", "export needs a file to write", {
      next: `showrunner export ${visible(runId)} --otio cut.otio`,
    });
  const file = await writtenFile(io.cwd, { flag: "--otio", path: flags.otio, kind: "otio" });
  const { editLists, loadRun, openJournal, openMedia } = await import("../../internal.ts");
  const journal = await openJournal(journalOf(io, flags));
  const state = await loadRun(journal, runId).finally(() => journal.close());
  const list = listNamed(editLists(state), runId, flags.of);
  const media = await openMedia(mediaOptionsOf(io, flags));
  const takes = takesOf(list);
  const places = await placeTakes(takes, file, media, state);
  const facts = new Map<string, TakeFacts>();
  for (const [hash, take] of takes) facts.set(hash, await factsOf(take, places.get(hash)!));
  const timeline = otioTimeline(list, { run: runId, factsOf: (take) => facts.get(hashOf(take))! });
  await writeDurably(file, `${JSON.stringify(timeline, null, 2)}\n`);
  if (flags.json) output.printJson({ id: runId, of: list.name, file, media: [...places.values()] });
  else output.print(visible(file));
  output.say(
    `${counted(places.size, "file")} of it ${places.size === 1 ? "lies" : "lie"} in ${visible(mediaFolder(file))}.`,
  );
  return ExitCode.done;
}

const hashOf = ({ output }: EditTake) => output.copy!.sha256;

/** By their hash: a take may be in several clips. */
function takesOf({ pictures, stills, sounds, finished }: EditList): ReadonlyMap<string, EditTake> {
  const clips = [...pictures, ...stills, ...sounds, ...(finished === null ? [] : [finished])];
  return new Map(clips.flatMap(({ takes }) => takes).map((take) => [hashOf(take), take]));
}

/** The journal says what an output is; a file that was given is measured here. */
async function factsOf({ output }: EditTake, path: string): Promise<TakeFacts> {
  const { copy, durationMs, fps } = output;
  const kind = copy!.contentType.split("/")[0];
  const said = { url: pathToFileURL(path).href, durationMs, fps };
  if (durationMs !== null || (kind !== "video" && kind !== "audio")) return said;
  const { measureMedia } = await import("../../internal.ts");
  const found = await measureMedia(path, kind);
  return { ...said, ...("durationMs" in found && { durationMs: found.durationMs, fps: found.fps }) };
}

function listNamed(lists: readonly EditList[], runId: string, wanted: string | undefined): EditList {
  const found = wanted === undefined ? lists[0] : lists.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const names = lists.map(({ name }) => visible(name)).join(", ");
  const message =
    lists.length === 0
      ? `Run ${visible(runId)} returned no media whose files are here`
      : `Run ${visible(runId)} returns no media named ${visible(wanted!)}; it returns ${names}`;
  throw new CliError("USAGE", message, { next: `showrunner show ${visible(runId)}` });
}

const mediaFolder = (file: string) => join(dirname(file), `${basename(file).replace(/\.otio$/, "")}-media`);

/** Copies of all takes in a folder beside the timeline, by their hash; editing programs want endings, which the store has not. */
async function placeTakes(
  takes: ReadonlyMap<string, EditTake>,
  file: string,
  media: MediaStore,
  { planned }: RunState,
) {
  const { fileExtension } = await import("../../internal.ts");
  const copies = [...takes].map(([sha256, { step, output }]) => {
    const stem = `${step.replaceAll("/", "-")}${output.index === 0 ? "" : `-${output.index + 1}`}`;
    return { sha256, name: `${stem}${fileExtension(output.copy!.contentType)}` };
  });
  const folder = mediaFolder(file);
  const names = await media.place(copies, folder, temporaryTag(planned.nonce));
  return new Map(copies.map(({ sha256 }, index) => [sha256, join(folder, names[index]!)]));
}
