import type { FieldProblem } from "../../core/plan/index.ts";
import type { Json } from "../../core/plan/plan.ts";
import { type Body, type ConvertedBody, type ConvertedJob, given } from "../body.ts";
import { type Expression, json } from "../expression.ts";
import { type Defaults, fitToSchema } from "../fields/fit-to-schema.ts";
import { Job } from "../fields/job.ts";
import { idPaths, mediumAt, setMedia } from "../fields/media.ts";
import type { MigrationContext } from "../migration-context.ts";
import { type Choice, isUuid } from "../models/choose.ts";
import { type Need, needsOf } from "../models/need.ts";
import { slotField } from "../models/view.ts";
import { isTemplate, type JsonPath, pathText } from "../read/source.ts";
import type { V2Type } from "../v2-types.ts";
import { fillSound, fillSpeech, fillVoice } from "./speech.ts";
import { batchOf, finishedJob, noteBatch, seedsOf } from "./variations.ts";
import { fillAudio, fillFilm, fillFrames, fillReferences, fillVideoInputs } from "./video.ts";

function fillImage(job: Job): void {
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
    job.dropUnused(["start_keyframe_id"], "reference_image_ids is also given and takes precedence in v2");
  }
}

function fillSoundEffect(job: Job): void {
  job.text(["text"], "text");
  for (const name of ["prompt_influence", "loop", "output_format"]) job.plain([name]);
  const seconds = given(job.body, "duration_seconds");
  const ms = job.plainField(["duration_ms"]);
  if (typeof seconds !== "number" || ms === null)
    return job.plain(["duration_seconds"], "duration_seconds", "duration");
  job.value(["duration_seconds"], ms, Math.round(seconds * 1000), "v3 uses milliseconds");
}

function fillUpscale(job: Job): void {
  const { context, body, view } = job;
  const kind = body.type === "image_upscale" ? "image" : "video";
  const path = [`${kind}_id`];
  setMedia(job, slotField(view, kind), [mediumAt(context, body, path, kind, "source")], kind);
  const hadFactor = given(body, "upscale_factor") !== undefined;
  if (hadFactor && job.plainField(["upscale_factor", "scale", "factor"]) === null) {
    const sizes = job.plainField(["target_resolution", "resolution"])?.values ?? [];
    const why = `${view.id} upscales to a resolution, not by a factor`;
    job.decide(["upscale_factor"], why, sizes.length === 0 ? ["the smallest"] : sizes.map(String));
  } else job.plain(["upscale_factor"], "upscale_factor", "scale", "factor");
  const resolution = given(body, "target_resolution");
  if (resolution === undefined) return;
  const target = job.plainField(["target_resolution", "resolution"]);
  if (target !== null || hadFactor || isTemplate(resolution)) {
    return job.plain(["target_resolution"], "target_resolution", "resolution");
  }
  const scale = job.plainField(["upscale_factor", "scale", "factor"]);
  const factors = (scale?.values ?? []).map((value: Json) => `${scale?.name} ${value}`);
  const why = `${view.id} upscales by a factor, and the factor cannot be calculated because the size of the input is not known`;
  job.decide(["target_resolution"], why, [`the default of ${view.id}`, ...factors]);
}

function fillRestyle(job: Job): void {
  const { context, body, view } = job;
  job.text(["prompt"], "prompt");
  const sound = job.plainField(["keep_audio", "keep_original_sound"]);
  if (given(body, "keep_audio") !== undefined) job.plain(["keep_audio"], "keep_audio", "keep_original_sound");
  else if (sound !== null && sound.preset !== true && !body.fieldReport.has(["keep_audio"])) {
    job.preset("keep_audio", sound.name, true, "v2's default, written explicitly");
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

const MODEL_FIELDS = ["model_slug", "ai_model_id", "model_id"];

function namedModels(body: Body, prefix: JsonPath) {
  const paths: readonly JsonPath[] = [
    ...MODEL_FIELDS.map((name) => [...prefix, name]),
    ...(prefix.length === 0 ? MODEL_FIELDS.map((name) => ["generated_video_inputs", name]) : []),
  ];
  return paths.flatMap((path) => {
    const value = given(body, ...path);
    return typeof value === "string" && !isTemplate(value) ? [{ path, value }] : [];
  });
}

function noteModel(body: Body, prefix: JsonPath, choice: Choice, step: string): void {
  const { fieldReport } = body;
  const [named, ...weaker] = namedModels(body, prefix);
  const { view, quality, by, candidates } = choice;
  const because = choice.why === null ? "" : ` (${choice.why})`;
  const newValue: Json = quality === null ? view.id : `${view.id}, quality ${quality}`;
  const to = `${step}: model`;
  const isSure = by === "mapped" || by === "exact" || by === "only";
  if (given(body, ...prefix, "type") !== undefined) {
    const why = "in v3 the model determines what is generated";
    fieldReport.note([...prefix, "type"], "converted", { to, newValue: view.id, why });
  }
  for (const { path } of weaker)
    fieldReport.note(path, "dropped", { why: `${pathText(named?.path ?? [])} determines the model` });
  if (named === undefined) {
    if (by === "only") return;
    const why = `v2 chose the model itself; ${view.id} is used for now: confirm that model or choose another`;
    return fieldReport.add(pathText([...prefix, "model_slug"]), "decision", { to, newValue, why, choices: candidates });
  }
  if (isSure) {
    const why = by === "mapped" ? "as mapped" : `exact: ${choice.why}`;
    return fieldReport.note(named.path, "converted", { to, newValue, why });
  }
  const unnamed = isUuid(named.value) ? "v3 does not use v2 model ids" : "no v3 model has this name";
  const why =
    by === "similar"
      ? `${view.id} is the closest suitable model${because}; confirm it, or choose another model`
      : `${unnamed}${because}, so the most suitable model, ${view.id}, is used for now; confirm it, or choose another model`;
  fieldReport.note(named.path, "decision", { to, newValue, why, choices: candidates });
}

/** A converted body or, in `open`, the reason why the body cannot be converted yet. */
export type Converted = ConvertedBody | { readonly open: string };

export function convert(context: MigrationContext, body: Body): Converted {
  const choice = choose(context, body, needsOf(body), []);
  if (choice === null) return { open: `no v3 model in the catalog supports ${body.type}` };
  const job = chosenJob(context, body, [], choice, body.name);
  const before: ConvertedJob[] = [];
  const defaults = fill(job, before);
  if (choice.resolution !== null && !job.input.has("resolution")) {
    const why = "taken from the slug, because the body contains no resolution";
    job.preset(`${defaults.prefix}resolution`, "resolution", choice.resolution, why);
  }
  const count = batchOf(body);
  noteBatch(job, count);
  const seeds = seedsOf(job, seedPath(body.type), count);
  const problems = fitToSchema(job, defaults);
  if (problems.length > 0) {
    return { open: `${choice.view.id} does not accept this body: ${problems.map(problemText).join("; ")}` };
  }
  noteName(job);
  const converted = finishedJob(job, count, seeds);
  const yields = choice.view.yields;
  return { jobs: [...before, converted], outputs: converted.variations.map(({ step }) => step), yields };
}

function chosenJob(context: MigrationContext, body: Body, prefix: JsonPath, choice: Choice, step: string): Job {
  const job = new Job(context, body, choice.view, step);
  noteModel(body, prefix, choice, step);
  const [named] = namedModels(body, prefix);
  if (choice.quality !== null && named !== undefined) {
    job.set("quality", json(choice.quality), null);
    job.levelOfSlug = { quality: choice.quality, path: named.path };
  }
  return job;
}

function problemText({ field, message }: FieldProblem): string {
  return `${field.replace(/^input\.?/, "")} ${message}`.trim();
}

function choose(context: MigrationContext, body: Body, needs: readonly Need[], prefix: JsonPath): Choice | null {
  return context.chooser.choose(needs, namedModels(body, prefix)[0]?.value ?? null);
}

const seedPath = (type: V2Type): JsonPath =>
  type === "video" || type === "motion_control" ? ["generated_video_inputs", "seed"] : ["seed"];

/** Fills in the job's input. Adds to `before` the jobs that must run first. */
function fill(job: Job, before: ConvertedJob[]): Defaults {
  const { type } = job.body;
  if (type === "video" || type === "motion_control") return fillVideo(job, before);
  FILL[type](job);
  const isImage = type === "image" || type === "image_to_image";
  return { prefix: "", values: isImage ? ratioFrom(job, ["resolution"]) : {} };
}

function fillVideo(job: Job, before: ConvertedJob[]): Defaults {
  const shotsMs = fillVideoInputs(job);
  fillFrames(job);
  if (job.body.type === "motion_control") fillFilm(job);
  else {
    fillReferences(job);
    fillAudio(job, speechFor(job, before));
  }
  const ratio = ratioFrom(job, ["generated_video_inputs", "resolution"]);
  return { prefix: "generated_video_inputs.", values: { ...ratio, ...(shotsMs !== null && { duration_ms: shotsMs }) } };
}

const FILL: Readonly<Record<Exclude<V2Type, "video" | "motion_control">, (job: Job) => void>> = {
  image: fillImage,
  image_to_image: fillImage,
  text_to_speech: (job) => fillSpeech(job, []),
  text_to_sound: fillSoundEffect,
  speech_to_speech(job) {
    fillSound(job, ["audio_id"]);
    fillVoice(job, ["voice_id"]);
  },
  voice_clone(job) {
    fillSound(job, ["audio_id"]);
    job.text(["name"], "name");
  },
  audio_isolation: (job) => fillSound(job, ["audio_id"]),
  image_upscale: fillUpscale,
  video_upscale: fillUpscale,
  video_to_video(job) {
    fillRestyle(job);
    fillFilm(job);
  },
};

function ratioFrom(job: Job, path: JsonPath): Defaults["values"] {
  const size = given(job.body, ...path);
  return typeof size === "string" && /^\d+\s*[x×]\s*\d+$/i.test(size) ? { aspect_ratio: size } : {};
}

function speechFor(outer: Job, before: ConvertedJob[]): Expression | null {
  const { context, body } = outer;
  const path: JsonPath = ["audio_generation"];
  if (given(body, ...path) === undefined) return null;
  if (idPaths(body, "audio_id").length > 0) {
    outer.dropUnused(path, "audio_id is also given and takes precedence in v2, so no speech is generated");
    return null;
  }
  const choice = choose(context, body, [{ type: "text_to_speech", must: ["text", "voice"], also: [] }], path);
  const field = slotField(outer.view, "audio");
  if (choice === null || field === null) {
    const lack = field === null ? `${outer.view.id} accepts no audio` : "no v3 model in the catalog generates speech";
    outer.decide(path, `${lack}; the speech is left out for now`, ["leave it out", "choose a model that accepts it"]);
    return null;
  }
  const speech = chosenJob(context, body, path, choice, context.names.reserve(`${body.name}-speech`));
  fillSpeech(speech, path);
  const problems = fitToSchema(speech, { prefix: "audio_generation.", values: {} });
  if (problems.length > 0) {
    const reasons = problems.map(problemText).join("; ");
    const why = `${choice.view.id} cannot generate this speech: ${reasons}; the speech is left out for now`;
    body.fieldReport.revoke(path, { why, choices: ["leave it out", "correct the speech in the v2 body"] });
    return null;
  }
  const name = given(body, ...path, "name");
  if (name !== undefined) body.fieldReport.note([...path, "name"], "dropped", { why: `its step is ${speech.step}` });
  before.push(finishedJob(speech, 1, null));
  return { is: "step", step: speech.step };
}

function noteName(job: Job): void {
  const path: JsonPath = ["name"];
  if (given(job.body, ...path) === undefined || job.body.fieldReport.has(path)) return;
  job.body.fieldReport.note(path, "converted", { to: job.step, newValue: job.step, why: "used as the step's name" });
}
