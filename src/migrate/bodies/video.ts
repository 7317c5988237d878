import type { Json } from "../../core/plan/plan.ts";
import { given } from "../body.ts";
import { type Expression, json } from "../expression.ts";
import { coerce } from "../fields/coerce.ts";
import { FILLED_BY_FLOW, type Job } from "../fields/job.ts";
import { idPaths, type Medium, mediumAt, setMedia } from "../fields/media.ts";
import { type FieldView, slotField } from "../models/view.ts";
import { isTemplate, type JsonPath } from "../read/source.ts";

const INPUTS: JsonPath = ["generated_video_inputs"];
const at = (...path: JsonPath): JsonPath => [...INPUTS, ...path];

/** Fills in the inputs of the video. Returns the total duration of the shots, or null if there are none. */
export function fillVideoInputs(job: Job): number | null {
  const shotsMs = fillShots(job);
  for (const name of ["negative_prompt", "enhance_prompt", "aspect_ratio", "resolution"]) job.plain(at(name));
  fillDuration(job, shotsMs);
  for (const name of ["generate_audio", "bounding_box_target", "character_orientation", "cfg_scale"])
    job.plain(at(name));
  fillShotType(job, shotsMs !== null);
  return shotsMs;
}

/**
 * Fills in the shots and returns their total duration. If there are no shots, or the model does not accept them, fills
 * in only the prompt and returns null.
 */
function fillShots(job: Job): number | null {
  const prompt = slotField(job.view, "prompt");
  const shots = readShots(job);
  if (shots === null || shots.problem !== null) {
    if (shots?.problem) {
      const choices = [
        "generate one scene from text_prompt",
        "shorten or join the shots in the generated code",
        "split them into several jobs",
      ];
      job.decide(at("multi_prompt"), `${shots.problem}; only text_prompt is used for now`, choices);
    }
    job.text(at("text_prompt"), "prompt");
    return null;
  }
  const records = shots.items.map(({ entries }): Expression => ({ is: "record", entries }));
  job.set("multi_prompt", { is: "list", items: records }, at("multi_prompt"));
  for (const { note } of shots.items) note();
  if (prompt?.isRequired) job.text(at("text_prompt"), "prompt");
  else leavePrompt(job);
  return shots.totalMs;
}

function leavePrompt(job: Job): void {
  const why = "v3 accepts either a prompt or shots, and the body has shots";
  const text = String(given(job.body, ...at("text_prompt")) ?? "").trim();
  const shots = given(job.body, ...at("multi_prompt"));
  const isContained = (Array.isArray(shots) ? shots : []).some(({ prompt }) => String(prompt).includes(text));
  if (isContained) return job.dropUnused(at("text_prompt"), `${why} that contain it`);
  job.decide(at("text_prompt"), why, [
    "use only the shots",
    "put the text of text_prompt before the prompt of each shot",
  ]);
}

interface Shot {
  readonly entries: readonly (readonly [string, Expression])[];
  readonly note: () => void;
}

interface Shots {
  readonly items: readonly Shot[];
  readonly totalMs: number;
  readonly problem: string | null;
}

function readShots(job: Job): Shots | null {
  const list = given(job.body, ...at("multi_prompt"));
  if (!Array.isArray(list) || list.length === 0) return null;
  const field = job.view.fields.get("multi_prompt");
  const none = (problem: string): Shots => ({ items: [], totalMs: 0, problem });
  const [prompt, duration] = [field?.item.get("prompt"), field?.item.get("duration_ms")];
  if (field === undefined || prompt === undefined) return none(`${job.view.id} accepts no shots`);
  if (list.length > field.maxItems)
    return none(`there are ${list.length} shots; ${job.view.id} accepts at most ${field.maxItems}`);
  let totalMs = 0;
  const items: Shot[] = [];
  for (const index of list.keys()) {
    const path = at("multi_prompt", index);
    const text = String(given(job.body, ...path, "prompt"));
    const length = given(job.body, ...path, "duration_ms");
    if (isTemplate(length)) return none("the duration of a shot is filled in only when the flow runs");
    const fitted = duration === undefined ? null : coerce(duration, Number(length));
    if (fitted !== null && !fitted.fits) return none(`shot ${index + 1}: ${fitted.why}`);
    const words = coerce(prompt, text);
    if (!isTemplate(text) && !words.fits) return none(`the prompt of shot ${index + 1} ${words.why}`);
    totalMs += Number(fitted === null ? length : fitted.value);
    items.push(shot(job, path, { text, ms: fitted?.value ?? null, why: fitted?.why ?? null }));
  }
  const mostMs = Math.min(field.maxTotalMs, ...sumsOf(job));
  const tooLong = `the shots last ${totalMs} ms; ${job.view.id} accepts at most ${mostMs}`;
  return { items, totalMs, problem: totalMs > mostMs ? tooLong : null };
}

function sumsOf({ context, view }: Job): readonly number[] {
  const rules = context.options.catalog.family(view.id)?.rules ?? [];
  return rules.flatMap((rule) => {
    const isOfShots = rule.kind === "max_sum" && rule.field === "multi_prompt" && rule.of === "duration_ms";
    return isOfShots && rule.when === undefined ? [rule.max] : [];
  });
}

function shot(
  job: Job,
  path: JsonPath,
  { text, ms, why }: { readonly text: string; readonly ms: Json; readonly why: string | null },
): Shot {
  const words = isTemplate(text)
    ? job.context.template(job.body, text, "a value that the flow inserts into a shot")
    : json(text);
  const field = `multi_prompt[${path.at(-1)}]`;
  return {
    entries: [["prompt", words], ...(ms === null ? [] : [["duration_ms", json(ms)] as const])],
    note: () => {
      if (words.is === "json") job.carried([...path, "prompt"], "prompt", text, null, `${field}.prompt`);
      else job.convert([...path, "prompt"], `${field}.prompt`, text, FILLED_BY_FLOW);
      if (ms === null) job.drop([...path, "duration_ms"], `${job.view.id} accepts no duration per shot`);
      else job.carried([...path, "duration_ms"], "duration_ms", ms, why, `${field}.duration_ms`);
    },
  };
}

function fillShotType(job: Job, hasShots: boolean): void {
  const path = at("shot_type");
  const isGiven = given(job.body, ...path) !== undefined;
  if (hasShots) {
    if (isGiven) return job.plain(path);
    const field = job.plainField(["shot_type"]);
    const why = "v2 always uses the durations of the shots";
    if (field?.values?.includes("customize"))
      job.preset("generated_video_inputs.shot_type", field.name, "customize", why);
  } else if (isGiven) job.drop(path, "has an effect only if there are shots");
}

/** Fills in the duration. The total duration of the shots takes precedence over `duration_ms`. */
function fillDuration(job: Job, shotsMs: number | null): void {
  const field = job.plainField(["duration_ms"]);
  const length = given(job.body, ...at("duration_ms"));
  if (shotsMs === null || field === null || typeof length !== "number") return job.plain(at("duration_ms"));
  job.value(at("duration_ms"), field, shotsMs, length === shotsMs ? null : `the shots last ${shotsMs} ms`);
}

export function fillFrames(job: Job): void {
  for (const end of ["start", "end"] as const) {
    const [id, url] = [`${end}_keyframe_id`, `${end}_keyframe_url`];
    const hasId = given(job.body, id) !== undefined;
    const media = [id, url]
      .filter((name) => given(job.body, name) !== undefined)
      .slice(0, 1)
      .map((name) => frame(job, [name], end));
    setMedia(job, slotField(job.view, end), media, `${end} frame`);
    if (hasId && given(job.body, url) !== undefined) job.dropUnused([url], `${id} is also given and takes precedence`);
  }
}

function frame(job: Job, path: JsonPath, end: "start" | "end"): Medium {
  const medium = mediumAt(job.context, job.body, path, "image", end);
  const isUrl = String(path[0]).endsWith("_url") && medium.outcome === "converted" && medium.expression.is === "upload";
  return isUrl ? { ...medium, why: "v3 does not fetch external URLs: download the file and supply it" } : medium;
}

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
  setMedia(job, slotField(job.view, "video"), [medium], "video to start from");
}

/** Sets the audio input to the speech generated for the video, followed by the audio that the body specifies. */
export function fillAudio(job: Job, speech: Expression | null): void {
  const { context, body, view } = job;
  const field = slotField(view, "audio");
  if (speech !== null && field !== null) job.add(field, speech, null);
  const media = idPaths(body, "audio_id").map((path) => mediumAt(context, body, path, "audio", "audio"));
  setMedia(job, field, media, "audio");
  shiftAudio(job, field);
}

/** Adds a task that shifts the audio, because v3 has no field for the offset. */
function shiftAudio(job: Job, field: FieldView | null): void {
  const path: JsonPath = ["audio_start_ms"];
  const startMs = given(job.body, ...path);
  if (startMs === undefined) return;
  const current = field === null ? undefined : job.input.get(field.name);
  if (field === null || current === undefined) return job.drop(path, "there is no audio to shift");
  if (startMs === 0) return job.drop(path, "an offset of 0 has no effect");
  const [sound, ...others] = current.is === "list" ? current.items : [current];
  if (typeof startMs !== "number" || sound === undefined || others.length > 0) {
    const why =
      others.length > 0
        ? "there are several audio inputs, and v2 does not specify which one to shift"
        : "the flow fills in the offset at run time, but it must be known when the source code is generated";
    return job.decide(path, why, ["use the audio unshifted", "shift the audio yourself, and supply it as a file"]);
  }
  const step = job.context.names.reserve(`${job.step}-audio-shifted`);
  job.shift = { step, sound, startMs };
  const converted: Expression = { is: "step", step };
  job.input.set(field.name, current.is === "list" ? { is: "list", items: [converted] } : converted);
  const what = startMs < 0 ? `puts ${-startMs} ms of silence before the audio` : `cuts ${startMs} ms off the audio`;
  const why = `v3 has no such field; a local task ${what}`;
  job.body.fieldReport.note(path, "converted", { to: step, newValue: startMs, why });
}
