import { redactText } from "../../core/kit/clean-text.ts";
import type { Json, MediaKind } from "../../core/plan/plan.ts";
import { type Body, given } from "../body.ts";
import { type Expression, shown } from "../expression.ts";
import { type JsonPath, pathText } from "../json-path.ts";
import type { MigrationContext } from "../migration-context.ts";
import type { FieldView } from "../models/view.ts";
import type { Job } from "./job.ts";

/** A medium that a body uses: an edge to the step that produces it, or a file to supply. */
export interface Medium {
  readonly path: JsonPath;
  readonly expression: Expression;
  readonly outcome: "converted" | "decision";
  readonly why: string;
  readonly choices: readonly string[];
}

/** Resolves the id at a path. `role` names the file where the document has no better name. */
export function mediumAt(context: MigrationContext, body: Body, path: JsonPath, kind: MediaKind, role: string): Medium {
  const id = String(given(body, ...path));
  const link = context.link(body, id);
  if (link.to === "outside") {
    const names = { name: link.name ?? `${body.name}-${role}`, why: whyFile(id, body, path) };
    const expression = context.file(link.key, kind, names);
    return {
      path,
      expression,
      outcome: "converted",
      why: "a v2 asset is not known to v3: supply its file",
      choices: [],
    };
  }
  const asset = context.assets.get(link.index);
  if (asset !== undefined) return uploaded(context, body, path, { kind, index: link.index });
  return outputOfBody(context, body, path, { kind, role, ...link });
}

interface MediumSource {
  readonly kind: MediaKind;
  readonly index: number;
}

function uploaded(context: MigrationContext, body: Body, path: JsonPath, { kind, index }: MediumSource): Medium {
  const asset = context.assets.get(index);
  const why = `the v2 asset ${JSON.stringify(asset?.name)}; first used by ${body.source.at}, ${pathText(path)}`;
  const expression = context.file(`asset ${index}`, kind, { name: asset?.name.replace(/\.\w{2,4}$/, "") ?? null, why });
  const isOfKind = asset?.kind === null || asset?.kind === kind;
  if (isOfKind)
    return { path, expression, outcome: "converted", why: "an uploaded v2 asset: supply its file", choices: [] };
  const open = `the asset was uploaded as ${asset?.kind}, and ${kind} is needed`;
  return { path, expression, outcome: "decision", why: open, choices: [`supply ${kind} when the pipeline is run`] };
}

function outputOfBody(
  context: MigrationContext,
  body: Body,
  path: JsonPath,
  { kind, role, index, variation }: MediumSource & { readonly role: string; readonly variation: number },
): Medium {
  const converted = context.converted.get(index);
  const step = converted?.outputs[Math.min(variation, converted.outputs.length - 1)];
  if (converted !== undefined && step !== undefined && converted.yields === kind) {
    return { path, expression: { is: "step", step }, outcome: "converted", why: `made by ${step}`, choices: [] };
  }
  const id = String(given(body, ...path));
  const file = context.file(id, kind, { name: `${body.name}-${role}`, why: whyFile(id, body, path) });
  const why =
    converted === undefined
      ? `body ${index + 1} makes it, which is not migrated`
      : `body ${index + 1} makes it as ${converted.yields}, and ${kind} is needed`;
  const choices = [`supply the ${kind} as a file when the pipeline is run`, "connect another step in the source"];
  return { path, expression: file, outcome: "decision", why, choices };
}

function whyFile(id: string, body: Body, path: JsonPath): string {
  return `v2 had ${redactText(id)}; first used by ${body.source.at}, ${pathText(path)}`;
}

/** Converts media to a field; those beyond the model's maximum become a decision. */
export function setMedia(job: Job, field: FieldView | null, media: readonly Medium[], what: string): void {
  const { view, body } = job;
  if (field === null) {
    for (const { path } of media) {
      const choices = ["leave it out", "choose a model that takes it"];
      job.decide(path, `${view.id} takes no ${what}`, choices);
    }
    return;
  }
  const before = listed(job.input.get(field.name));
  const free = Math.max(0, (field.isList ? field.maxItems : 1) - before.length);
  for (const [index, { path, expression, outcome, why, choices }] of media.entries()) {
    if (index < free) {
      const details = { to: job.to(field.name), newValue: shown(expression), why, choices };
      body.fieldReport.note(path, outcome, details);
      job.set(
        field.name,
        field.isList ? { is: "list", items: [...listed(job.input.get(field.name)), expression] } : expression,
        path,
      );
    } else {
      const most = field.isList ? `at most ${field.maxItems}` : "one";
      job.decide(path, `${view.id} takes ${most} in ${field.name}`, ["leave it out", "choose another in the source"]);
    }
  }
}

function listed(expression: Expression | undefined): readonly Expression[] {
  if (expression === undefined) return [];
  return expression.is === "list" ? expression.items : [expression];
}

/** Paths of the ids in a field that holds one, or a list of them. */
export function idPaths(body: Body, ...path: JsonPath): readonly JsonPath[] {
  const value = given(body, ...path);
  if (typeof value === "string") return [path];
  return Array.isArray(value)
    ? value.flatMap((id: Json, index) => (typeof id === "string" ? [[...path, index]] : []))
    : [];
}
