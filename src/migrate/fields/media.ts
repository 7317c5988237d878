import { redactText } from "../../core/kit/clean-text.ts";
import type { Json, MediaKind } from "../../core/plan/plan.ts";
import { type Body, given } from "../body.ts";
import { type Expression, shown } from "../expression.ts";
import type { MigrationContext } from "../migration-context.ts";
import type { FieldView } from "../models/view.ts";
import { type JsonPath, pathText } from "../read/source.ts";
import type { Job } from "./job.ts";

export interface Medium {
  readonly path: JsonPath;
  readonly expression: Expression;
  readonly outcome: "converted" | "decision";
  readonly why: string;
  readonly choices: readonly string[];
}

/**
 * Returns the medium to which the id at `path` refers. `role` becomes part of the file's name if no better name is
 * known.
 */
export function mediumAt(context: MigrationContext, body: Body, path: JsonPath, kind: MediaKind, role: string): Medium {
  const id = String(given(body, ...path));
  const link = context.link(body, id);
  const place = `first used by ${body.source.at}, ${pathText(path)}`;
  const unknown = (key: string, name: string | null) =>
    context.file(key, kind, name ?? `${body.name}-${role}`, `v2 calls it ${redactText(id)}; ${place}`);
  const medium = (expression: Expression, why: string, ...choices: readonly string[]): Medium => {
    return { path, expression, outcome: choices.length === 0 ? "converted" : "decision", why, choices };
  };
  if (link.to === "outside") {
    return medium(unknown(link.key, link.name), "v3 does not have this v2 asset; supply it as a file");
  }
  const asset = context.assets.get(link.index);
  if (asset !== undefined) {
    const why = `the v2 asset ${JSON.stringify(asset.name)}; ${place}`;
    const file = context.file(`asset ${link.index}`, kind, asset.name.replace(/\.\w{2,4}$/, ""), why);
    if (asset.kind === null || asset.kind === kind) return medium(file, "an uploaded v2 asset; supply its file");
    const open = `the asset was uploaded as ${asset.kind}, but ${kind} is needed`;
    return medium(file, open, `supply the ${kind} as a file when the pipeline is run`);
  }
  const converted = context.converted.get(link.index);
  const step = converted?.outputs[Math.min(link.variation, converted.outputs.length - 1)];
  if (step !== undefined && converted?.yields === kind) return medium({ is: "step", step }, `the output of ${step}`);
  const made =
    converted === undefined ? ", but is not migrated" : `; its type is ${converted.yields}, but must be ${kind}`;
  return medium(
    unknown(id, null),
    `body ${link.index + 1} produces this file${made}`,
    `supply the ${kind} as a file when the pipeline is run`,
    "connect another step in the source",
  );
}

export function setMedia(job: Job, field: FieldView | null, media: readonly Medium[], what: string): void {
  const { view, body } = job;
  if (field === null) {
    const choices = ["leave it out", "choose a model that accepts it"];
    for (const { path } of media) job.decide(path, `${view.id} accepts no ${what}`, choices);
    return;
  }
  let free = field.isList ? field.maxItems - job.itemsOf(field).length : job.input.has(field.name) ? 0 : 1;
  for (const { path, expression, outcome, why, choices } of media) {
    if (free-- > 0) {
      body.fieldReport.note(path, outcome, { to: job.to(field.name), newValue: shown(expression), why, choices });
      job.add(field, expression, path);
    } else {
      const most = field.isList ? `at most ${field.maxItems}` : "one";
      const options = ["leave it out", "replace one of the other files with it in the source"];
      job.decide(path, `${view.id} accepts ${most} in ${field.name}`, options);
    }
  }
}

export function idPaths(body: Body, ...path: JsonPath): readonly JsonPath[] {
  const value = given(body, ...path);
  if (typeof value === "string") return [path];
  return Array.isArray(value)
    ? value.flatMap((id: Json, index) => (typeof id === "string" ? [[...path, index]] : []))
    : [];
}
