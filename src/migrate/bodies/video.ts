import { given } from "../body.ts";
import type { Expression } from "../expression.ts";
import type { Job } from "../fields/job.ts";
import { idPaths, type Medium, mediumAt, setMedia } from "../fields/media.ts";
import type { JsonPath } from "../json-path.ts";
import { type FieldView, slotField } from "../models/view.ts";
import { fillShots, fillShotType } from "./shots.ts";

const INPUTS: JsonPath = ["generated_video_inputs"];
const at = (...path: JsonPath): JsonPath => [...INPUTS, ...path];

/** Converts `generated_video_inputs`, except the seed. Returns the total duration of the shots, if there are any. */
export function fillVideoInputs(job: Job): number | null {
  const shotsMs = fillShots(job);
  for (const name of ["negative_prompt", "enhance_prompt", "aspect_ratio", "resolution"]) job.plain(at(name));
  fillDuration(job, shotsMs);
  for (const name of ["generate_audio", "bounding_box_target", "character_orientation", "cfg_scale"])
    job.plain(at(name));
  fillShotType(job, shotsMs !== null);
  return shotsMs;
}

/** The shots' durations determine the film's. */
function fillDuration(job: Job, shotsMs: number | null): void {
  const field = job.plainField(["duration_ms"]);
  const length = given(job.body, ...at("duration_ms"));
  if (shotsMs === null || field === null || typeof length !== "number") return job.plain(at("duration_ms"));
  job.value(at("duration_ms"), field, shotsMs, length === shotsMs ? null : `the shots last ${shotsMs} ms`);
}

/** Converts first and last frame, each given by id or URL. */
export function fillFrames(job: Job): void {
  for (const end of ["start", "end"] as const) {
    const [id, url] = [`${end}_keyframe_id`, `${end}_keyframe_url`];
    const hasId = given(job.body, id) !== undefined;
    const media = [id, url]
      .filter((name) => given(job.body, name) !== undefined)
      .slice(0, 1)
      .map((name) => frame(job, [name], end));
    setMedia(job, slotField(job.view, end), media, `${end} frame`);
    if (hasId && given(job.body, url) !== undefined) job.dropUnused([url], `${id} is given too, and comes first`);
  }
}

function frame(job: Job, path: JsonPath, end: "start" | "end"): Medium {
  const medium = mediumAt(job.context, job.body, path, "image", end);
  const isUrl = String(path[0]).endsWith("_url") && medium.outcome === "converted" && medium.expression.is === "upload";
  return isUrl ? { ...medium, why: "v3 reads no foreign address: download it and supply the file" } : medium;
}

/** Converts reference media and the source film. */
export function fillReferences(job: Job): void {
  const { context, body, view } = job;
  const kinds = [
    ["reference_image_ids", "images", "image"],
    ["reference_audio_ids", "audios", "audio"],
    ["reference_video_ids", "videos", "video"],
  ] as const;
  for (const [name, slot, kind] of kinds) {
    const media = idPaths(body, name).map((path) => mediumAt(context, body, path, kind, `reference-${kind}`));
    setMedia(job, slotField(view, slot), media, `reference ${kind}s`);
  }
  fillFilm(job);
}

export function fillFilm(job: Job): void {
  if (given(job.body, "video_id") === undefined) return;
  const medium = mediumAt(job.context, job.body, ["video_id"], "video", "source");
  setMedia(job, slotField(job.view, "video"), [medium], "film to start from");
}

/** Converts the audio: speech generated for it first, then existing sound. */
export function fillAudio(job: Job, speech: Expression | null): void {
  const { context, body, view } = job;
  const field = slotField(view, "audio");
  if (speech !== null && field !== null)
    job.set(field.name, field.isList ? { is: "list", items: [speech] } : speech, null);
  const media = idPaths(body, "audio_id").map((path) => mediumAt(context, body, path, "audio", "audio"));
  setMedia(job, field, media, "sound");
  shiftAudio(job, field);
}

/** v3 has no field for the audio's offset; a local task shifts the sound. */
function shiftAudio(job: Job, field: FieldView | null): void {
  const path: JsonPath = ["audio_start_ms"];
  const startMs = given(job.body, ...path);
  if (startMs === undefined) return;
  const current = field === null ? undefined : job.input.get(field.name);
  if (field === null || current === undefined) return job.drop(path, "there is no sound to shift");
  if (startMs === 0) return job.drop(path, "0 shifts nothing");
  const [sound, ...others] = current.is === "list" ? current.items : [current];
  if (typeof startMs !== "number" || sound === undefined || others.length > 0) {
    const why = others.length > 0 ? "there are several sounds, and v2 does not say which" : "the flow fills it in";
    return job.decide(path, why, ["use the sound as it is", "shift it yourself, and supply it as a file"]);
  }
  const step = job.context.names.reserve(`${job.step}-audio-shifted`);
  job.shift = { step, sound, startMs };
  const converted: Expression = { is: "step", step };
  job.input.set(field.name, current.is === "list" ? { is: "list", items: [converted] } : converted);
  const what = startMs < 0 ? `puts ${-startMs} ms of silence before the sound` : `cuts ${startMs} ms off the sound`;
  job.body.fieldReport.note(path, "converted", {
    to: step,
    newValue: startMs,
    why: `v3 has no such field; a local task ${what}`,
  });
}
