import type { Json } from "../../plan/plan.ts";
import { given } from "../body.ts";
import { type Expression, json } from "../expression.ts";
import { coerce } from "../fields/coerce.ts";
import type { Job } from "../fields/job.ts";
import type { JsonPath } from "../json-path.ts";
import { slotField } from "../models/view.ts";
import { isTemplate } from "../read/template.ts";

const at = (...path: JsonPath): JsonPath => ["generated_video_inputs", ...path];

/** Shots replace the prompt where the model supports them and they respect its bounds. */
export function fillShots(job: Job): number | null {
  const prompt = slotField(job.view, "prompt");
  const shots = readShots(job);
  if (shots === null || shots.problem !== null) {
    if (shots?.problem) {
      const choices = [
        "make one scene of text_prompt",
        "shorten or join the shots in the source",
        "split them into several jobs",
      ];
      job.decide(at("multi_prompt"), `${shots.problem}; text_prompt alone is taken for now`, choices);
    }
    job.text(at("text_prompt"), "prompt");
    return null;
  }
  job.set(
    "multi_prompt",
    { is: "list", items: shots.items.map(({ entries }) => ({ is: "record", entries })) },
    at("multi_prompt"),
  );
  for (const { note } of shots.items) note();
  if (prompt?.isRequired) job.text(at("text_prompt"), "prompt");
  else leavePrompt(job);
  return shots.totalMs;
}

/** v3 takes a prompt or shots, never both: prompt text that no shot contains is reported, not dropped in silence. */
function leavePrompt(job: Job): void {
  const why = "v3 takes a prompt or shots, never both, and the shots are given";
  const text = String(given(job.body, ...at("text_prompt")) ?? "").trim();
  const shots = given(job.body, ...at("multi_prompt"));
  const isSaid = (Array.isArray(shots) ? shots : []).some(({ prompt }) => String(prompt).includes(text));
  if (isSaid) return job.dropUnused(at("text_prompt"), `${why}, and say it`);
  job.decide(at("text_prompt"), why, ["the shots alone", "put its words before the prompt of each shot"]);
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
  if (field === undefined || prompt === undefined) return none(`${job.view.id} takes no shots`);
  if (list.length > field.maxItems)
    return none(`there are ${list.length} shots; ${job.view.id} takes ${field.maxItems}`);
  let totalMs = 0;
  const items: Shot[] = [];
  for (const index of list.keys()) {
    const path = at("multi_prompt", index);
    const text = String(given(job.body, ...path, "prompt"));
    const length = given(job.body, ...path, "duration_ms");
    if (isTemplate(length)) return none("the flow fills in how long a shot lasts");
    const fitted = duration === undefined ? null : coerce(duration, Number(length));
    if (fitted !== null && !fitted.fits) return none(`shot ${index + 1} ${fitted.why}`);
    const words = coerce(prompt, text);
    if (!isTemplate(text) && !words.fits) return none(`the prompt of shot ${index + 1} ${words.why}`);
    totalMs += Number(fitted === null ? length : fitted.value);
    items.push(shot(job, path, { text, ms: fitted?.value ?? null, why: fitted?.why ?? null }));
  }
  const mostMs = Math.min(field.maxTotalMs, ...sumsOf(job));
  const isTooLong = totalMs > mostMs;
  return {
    items,
    totalMs,
    problem: isTooLong ? `the shots last ${totalMs} ms; ${job.view.id} takes ${mostMs}` : null,
  };
}

/** The model family's limit on the shots' total duration, where the schema states none. */
function sumsOf({ context, view }: Job): readonly number[] {
  const rules = context.catalog.family(view.id)?.rules ?? [];
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
  const words = isTemplate(text) ? job.context.template(job.body, text, "a shot that the flow fills in") : json(text);
  const field = `multi_prompt[${path.at(-1)}]`;
  return {
    entries: [["prompt", words], ...(ms === null ? [] : [["duration_ms", json(ms)] as const])],
    note: () => {
      if (words.is === "json") job.carried([...path, "prompt"], "prompt", text, null, `${field}.prompt`);
      else job.convert([...path, "prompt"], `${field}.prompt`, text, "what the flow fills in is input of the pipeline");
      if (ms === null) job.drop([...path, "duration_ms"], `a shot of ${job.view.id} has no length of its own`);
      else job.carried([...path, "duration_ms"], "duration_ms", ms, why, `${field}.duration_ms`);
    },
  };
}

export function fillShotType(job: Job, hasShots: boolean): void {
  const path = at("shot_type");
  const isGiven = given(job.body, ...path) !== undefined;
  if (hasShots) {
    if (isGiven) return job.plain(path);
    const field = job.plainField(["shot_type"]);
    if (field?.values?.includes("customize")) {
      job.preset(
        "generated_video_inputs.shot_type",
        field.name,
        "customize",
        "v2 always keeps to the lengths of the shots",
      );
    }
  } else if (isGiven) job.drop(path, "counts only where there are shots");
}
