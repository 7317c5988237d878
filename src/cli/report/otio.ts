import type { EditClip, EditList, EditTake } from "../../internal.ts";

/** Seconds that a still picture is shown. */
const STILL_SECONDS = 5;
/** Frames a second of a timeline without a film. */
const RATE = 25;

/** Of a take: where its bytes lie, and what is known of them. */
export interface TakeFacts {
  readonly url: string;
  readonly durationMs: number | null;
  readonly fps: number | null;
}

/**
 * A list as OpenTimelineIO has it: the clips in a row, each with its takes, a track for each sound, captions as markers, and above
 * them, switched off, the pictures that are laid over a film, and the finished film.
 */
export function otioTimeline(
  list: EditList,
  { run, factsOf }: { readonly run: string; readonly factsOf: (take: EditTake) => TakeFacts },
) {
  const clips = [...list.pictures, ...(list.finished === null ? [] : [list.finished])];
  const fps = clips.map((clip) => factsOf(clip.takes[clip.active]!).fps).find((one) => one !== null && one > 0) ?? RATE;
  const range = (from: number, to: number) => timeRange(from, to, fps);
  const clipOf = (clip: EditClip) => otioClip(clip, factsOf, range);
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
    marked_range: range(start, end),
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

function otioClip(
  { name, takes, active }: EditClip,
  factsOf: (take: EditTake) => TakeFacts,
  range: (from: number, to: number) => object,
) {
  const keys = takes.map((_, index) => (index === active ? "DEFAULT_MEDIA" : `take ${index + 1}`));
  const references = takes.map((take, index) => {
    const { durationMs, url } = factsOf(take);
    return [
      keys[index]!,
      {
        OTIO_SCHEMA: "ExternalReference.1",
        metadata: { showrunner: { step: take.step, output: take.output.index, sha256: take.output.copy!.sha256 } },
        name: take.step,
        available_range: durationMs === null ? null : range(0, durationMs / 1000),
        available_image_bounds: null,
        target_url: url,
      },
    ] as const;
  });
  const { durationMs } = factsOf(takes[active]!);
  return {
    OTIO_SCHEMA: "Clip.2",
    ...item(name),
    source_range: range(0, durationMs === null ? STILL_SECONDS : durationMs / 1000),
    media_references: Object.fromEntries(references),
    active_media_reference_key: "DEFAULT_MEDIA",
  };
}

/** Whole frames, so that clips meet without a gap. */
function timeRange(from: number, to: number, rate: number) {
  const start = Math.round(from * rate);
  const time = (value: number) => ({ OTIO_SCHEMA: "RationalTime.1", rate, value });
  return { OTIO_SCHEMA: "TimeRange.1", start_time: time(start), duration: time(Math.round(to * rate) - start) };
}
