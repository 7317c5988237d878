import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { measureMedia } from "../../core/engine/index.ts";
import { fileExtension } from "../../core/kit/file-name.ts";
import { temporaryTag, writeDurably } from "../../core/kit/files.ts";
import { ownVersion } from "../../core/kit/own-version.ts";
import { type EditList, editLists, loadRun, type RunState } from "../../core/view/index.ts";
import type { Showrunner } from "../../index.ts";
import { usageError } from "../cli-error.ts";
import { type Context, mediaOptionsOf, withJournal } from "../context.ts";
import { writtenFile } from "../input/named-file.ts";
import { isOwnFile } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

export async function exportRun(context: Context, runId: string, flags: Flags["export"]): Promise<void> {
  const { io, output } = context;
  if (flags.otio === undefined)
    throw usageError("export needs an output file", `showrunner export ${visible(runId)} --otio cut.otio`);
  const file = await writtenFile(io.cwd, { flag: "--otio", path: flags.otio, kind: "otio" });
  return withJournal(flags, async ({ journal, media }) => {
    const state = await loadRun(journal, runId);
    const lists = editLists(state);
    const list = listNamed(lists, runId, flags.of);
    const takes = takesOf(list);
    const places = await placeTakes(takes, file, media, state);
    const facts = new Map<string, TakeFacts>();
    for (const [hash, take] of takes) facts.set(hash, await factsOf(take, places.get(hash)!));
    const timeline = otioTimeline(list, runId, (take) => facts.get(hashOf(take))!);
    await writeDurably(file, `${JSON.stringify(timeline, null, 2)}\n`);
    output.result({ id: runId, of: list.name, file, media: [...places.values()] }, visible(file));
    output.say(`Copied ${counted(places.size, "media file")} to ${visible(mediaFolder(file))}.`);
    if (flags.of === undefined && lists.length > 1) {
      const others = lists.filter((one) => one !== list).map(({ name }) => visible(name));
      output.say(`Only ${visible(list.name)} was exported. To export another, add --of NAME: ${others.join(", ")}.`);
    }
  });
}

type EditClip = EditList["pictures"][number];
type EditTake = EditClip["takes"][number];

const hashOf = ({ output }: EditTake) => output.copy!.sha256;

function takesOf({ pictures, stills, sounds, finished }: EditList): ReadonlyMap<string, EditTake> {
  const clips = [...pictures, ...stills, ...sounds, ...(finished === null ? [] : [finished])];
  return new Map(clips.flatMap(({ takes }) => takes).map((take) => [hashOf(take), take]));
}

async function factsOf({ output }: EditTake, path: string): Promise<TakeFacts> {
  const { copy, durationMs, fps } = output;
  const kind = copy!.contentType.split("/")[0];
  const said = { url: pathToFileURL(path).href, durationMs, fps };
  if (durationMs !== null || (kind !== "video" && kind !== "audio")) return said;
  const found = await measureMedia(path, kind);
  return { ...said, ...("durationMs" in found && { durationMs: found.durationMs, fps: found.fps }) };
}

function listNamed(lists: readonly EditList[], runId: string, wanted: string | undefined): EditList {
  const found = wanted === undefined ? lists[0] : lists.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const names = lists.map(({ name }) => visible(name)).join(", ");
  const message =
    lists.length === 0
      ? `None of the media that run ${visible(runId)} returned is stored on this machine`
      : `Run ${visible(runId)} has no result named ${visible(wanted!)}; choose from: ${names}`;
  throw usageError(message, `showrunner show ${visible(runId)}`);
}

const mediaFolder = (file: string) => join(dirname(file), `${basename(file).replace(/\.otio$/, "")}-media`);

async function placeTakes(
  takes: ReadonlyMap<string, EditTake>,
  file: string,
  media: Showrunner["media"],
  { planned }: RunState,
) {
  const copies = [...takes].map(([sha256, { step, output }]) => {
    const stem = `${step.replaceAll("/", "-")}${output.index === 0 ? "" : `-${output.index + 1}`}`;
    return { sha256, name: `${stem}${fileExtension(output.copy!.contentType)}` };
  });
  const folder = mediaFolder(file);
  const names = await media.place(copies, folder, temporaryTag(planned.nonce));
  return new Map(copies.map(({ sha256 }, index) => [sha256, join(folder, names[index]!)]));
}

const STILL_SECONDS = 5;
/** Frames per second of a timeline that contains no video. */
const RATE = 25;

interface TakeFacts {
  readonly url: string;
  readonly durationMs: number | null;
  readonly fps: number | null;
}

type FactsOf = (take: EditTake) => TakeFacts;

/** Converts an edit list to an OTIO timeline. Overlays and the finished film are on disabled tracks. */
function otioTimeline(list: EditList, run: string, factsOf: FactsOf) {
  const clips = [...list.pictures, ...(list.finished === null ? [] : [list.finished])];
  const fps = clips.map((clip) => factsOf(clip.takes[clip.active]!).fps).find((one) => one !== null && one > 0) ?? RATE;
  const clipOf = (clip: EditClip) => otioClip(clip, factsOf, fps);
  const tracks = [
    ...(list.pictures.length === 0 ? [] : [track("clips", "Video", list.pictures.map(clipOf))]),
    ...list.sounds.map((sound) => track(sound.name, "Audio", [clipOf(sound)])),
    ...(list.stills.length === 0 ? [] : [track("stills", "Video", list.stills.map(clipOf), false)]),
    ...(list.finished === null ? [] : [track("finished", kindOf(list.finished), [clipOf(list.finished)], false)]),
  ];
  const markers = list.captions.map(({ start, end, text }) => ({
    OTIO_SCHEMA: "Marker.2",
    metadata: {},
    name: text.replaceAll("\n", " ").slice(0, 80),
    color: "YELLOW",
    comment: text,
    marked_range: timeRange(start, end, fps),
  }));
  return {
    OTIO_SCHEMA: "Timeline.1",
    metadata: { showrunner: { run } },
    name: `${run} ${list.name}`,
    global_start_time: null,
    tracks: { OTIO_SCHEMA: "Stack.1", ...item("tracks"), markers, children: tracks },
  };
}

function item(name: string, metadata: object = {}) {
  return { metadata, name, source_range: null as object | null, effects: [], markers: [] as object[], enabled: true };
}

function track(name: string, kind: "Video" | "Audio", children: readonly object[], enabled = true) {
  return { OTIO_SCHEMA: "Track.1", ...item(name), enabled, children, kind };
}

const kindOf = ({ takes, active }: EditClip) =>
  takes[active]!.output.copy!.contentType.startsWith("audio/") ? "Audio" : "Video";

function otioClip({ name, takes, active }: EditClip, factsOf: FactsOf, fps: number) {
  const keys = takes.map((_, index) => (index === active ? "DEFAULT_MEDIA" : `take ${index + 1}`));
  const references = takes.map((take, index) => {
    const { durationMs, url } = factsOf(take);
    return [
      keys[index]!,
      {
        OTIO_SCHEMA: "ExternalReference.1",
        metadata: { showrunner: { step: take.step, output: take.output.index, sha256: take.output.copy!.sha256 } },
        name: take.step,
        available_range: durationMs === null ? null : timeRange(0, durationMs / 1000, fps),
        available_image_bounds: null,
        target_url: url,
      },
    ] as const;
  });
  const { durationMs } = factsOf(takes[active]!);
  return {
    OTIO_SCHEMA: "Clip.2",
    ...item(name),
    source_range: timeRange(0, durationMs === null ? STILL_SECONDS : durationMs / 1000, fps),
    media_references: Object.fromEntries(references),
    active_media_reference_key: "DEFAULT_MEDIA",
  };
}

/** Returns an OpenTimelineIO time range. Times are rounded to whole frames, so that there are no gaps between clips. */
function timeRange(from: number, to: number, rate: number) {
  const start = Math.round(from * rate);
  const time = (value: number) => ({ OTIO_SCHEMA: "RationalTime.1", rate, value });
  return { OTIO_SCHEMA: "TimeRange.1", start_time: time(start), duration: time(Math.round(to * rate) - start) };
}

export async function report(context: Context, runId: string, flags: Flags["report"]): Promise<void> {
  const { io, output } = context;
  const isForClient = flags.for === "client";
  const { writeReport } = await import("../../studio/dashboard/index.ts");
  return withJournal(flags, async (show) => {
    const { file, sizeBytes, media } = await writeReport(show, runId, {
      file:
        flags.out === undefined
          ? await defaultFile((await show.show(runId)).out_dir, runId, io.cwd, isForClient)
          : await writtenFile(io.cwd, { flag: "--out", path: flags.out, kind: "html" }),
      ...(isForClient && { forClient: { hasPrice: flags.prices === true } }),
      ...mediaOptionsOf(io, flags),
      writtenAt: Date.now(),
      version: ownVersion(),
    });
    output.result({ id: runId, file, size_bytes: sizeBytes, media }, visible(file));
    const { beside, missing } = media;
    if (beside > 0) {
      const [are, them] = beside === 1 ? ["is", "it"] : ["are", "them"];
      output.say(
        `${counted(beside, "large file")} ${are} stored next to the page; if you move the page, move ${them} too.`,
      );
    }
    if (missing > 0) {
      output.say(`${counted(missing, "file")} ${missing === 1 ? "is" : "are"} no longer in the media store.`);
    }
    output.say("Open it in a browser; it works offline.");
  });
}

async function defaultFile(outDir: string, runId: string, cwd: string, isForClient: boolean): Promise<string> {
  const stem = isForClient ? "client-report" : "report";
  if (await isOwnFile(outDir, cwd)) return join(outDir, `${stem}.html`);
  return join(cwd, `${stem}-${runId.replace(/[^\w.-]/g, "_")}.html`);
}
