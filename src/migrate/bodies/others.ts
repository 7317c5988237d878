import type { Json } from "../../plan/plan.ts";
import { given } from "../body.ts";
import type { Job } from "../fields/job.ts";
import { idPaths, mediumAt, setMedia } from "../fields/media.ts";
import { slotField } from "../models/view.ts";
import { isTemplate } from "../read/template.ts";

/** Converts the fields of an image body, except the seed. */
export function fillImage(job: Job): void {
  const { context, body, view } = job;
  job.text(["text_prompt"], "prompt");
  for (const name of ["negative_prompt", "aspect_ratio", "resolution", "output_format"]) job.plain([name]);
  job.plain(["enhance_prompt"]);
  job.plain(["guidance_scale"], "guidance_scale", "guidance");
  job.plain(["num_inference_steps"], "num_inference_steps", "inference_steps", "steps");
  const references = idPaths(body, "reference_image_ids");
  const start = given(body, "start_keyframe_id") === undefined ? [] : [["start_keyframe_id"]];
  const used = references.length > 0 ? references : start;
  const media = used.map((path) => mediumAt(context, body, path, "image", "reference"));
  setMedia(job, slotField(view, "images") ?? slotField(view, "start"), media, "reference images");
  if (references.length > 0 && start.length > 0) {
    job.dropUnused(["start_keyframe_id"], "reference_image_ids is given too, and wins in v2");
  }
}

export function fillSoundEffect(job: Job): void {
  job.text(["text"], "text");
  for (const name of ["prompt_influence", "loop", "output_format"]) job.plain([name]);
  const seconds = given(job.body, "duration_seconds");
  const ms = job.plainField(["duration_ms"]);
  if (typeof seconds !== "number" || ms === null)
    return job.plain(["duration_seconds"], "duration_seconds", "duration");
  job.value(["duration_seconds"], ms, Math.round(seconds * 1000), "v3 counts milliseconds");
}

/** Converts the medium to upscale, and the factor. */
export function fillUpscale(job: Job): void {
  const { context, body, view } = job;
  const kind = body.type === "image_upscale" ? "image" : "video";
  const path = [`${kind}_id`];
  setMedia(job, slotField(view, kind), [mediumAt(context, body, path, kind, "source")], kind);
  const hadFactor = given(body, "upscale_factor") !== undefined;
  job.plain(["upscale_factor"], "upscale_factor", "scale", "factor");
  const resolution = given(body, "target_resolution");
  if (resolution === undefined) return;
  const target = job.plainField(["target_resolution", "resolution"]);
  if (target !== null || hadFactor || isTemplate(resolution)) {
    return job.plain(["target_resolution"], "target_resolution", "resolution");
  }
  const scale = job.plainField(["upscale_factor", "scale", "factor"]);
  const factors = (scale?.values ?? []).map((value: Json) => `${scale?.name} ${value}`);
  const why = `${view.id} enlarges by a factor, and the size of what it gets is not known`;
  job.decide(["target_resolution"], why, [`the default of ${view.id}`, ...factors]);
}

export function fillRestyle(job: Job): void {
  const { context, body, view } = job;
  job.text(["prompt"], "prompt");
  const sound = job.plainField(["keep_audio", "keep_original_sound"]);
  if (given(body, "keep_audio") !== undefined) job.plain(["keep_audio"], "keep_audio", "keep_original_sound");
  else if (sound !== null && sound.preset !== true && !body.fieldReport.has(["keep_audio"])) {
    job.preset("keep_audio", sound.name, true, "v2's default, written out");
  }
  const elements = given(body, "elements");
  const paths = [
    ...idPaths(body, "reference_image_asset_ids"),
    ...(Array.isArray(elements) ? [...elements.keys()] : []).flatMap((index) => [
      ...idPaths(body, "elements", index, "frontal_image_asset_id"),
      ...idPaths(body, "elements", index, "reference_image_asset_ids"),
    ]),
  ];
  const media = paths.map((path) => mediumAt(context, body, path, "image", "reference"));
  setMedia(job, slotField(view, "images"), media, "reference images");
}
