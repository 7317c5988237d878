import { withoutSecrets } from "../core/kit/clean-text.ts";
import { suggest } from "../core/kit/lookup.ts";
import type { Json } from "../core/plan/plan.ts";
import { convert } from "./bodies/convert.ts";
import { batchOf } from "./bodies/variations.ts";
import type { Body } from "./body.ts";
import type { Checked, Mistake } from "./check.ts";
import { FieldReport, valueAt } from "./field-report.ts";
import type { MigrationContext } from "./migration-context.ts";
import { TYPE_FACTS } from "./models/need.ts";
import { isRecord, type JsonPath, type JsonRecord, type V2Source } from "./read/source.ts";
import { type BodyReport, type FieldEntry, lossKey } from "./report/report.ts";
import { ANSWER_FIELDS, type Field, type Fields, fieldsOf, OWN_IDS, type V2Type } from "./v2-types.ts";

export function bodyReport(body: Body, context: MigrationContext): BodyReport {
  const { index, source, type, value } = body;
  const makes = { kind: TYPE_FACTS[type].yields, count: batchOf(body) };
  const base = { number: index + 1, at: source.at, type, makes };
  const converted = convert(context, body);
  if ("open" in converted) {
    const fieldReport = new FieldReport(value);
    const choices = ["leave this body on v2", "choose a v3 model with --map"];
    const fields = fieldReport.close(() => ["decision", { why: converted.open, choices }]);
    return { ...base, status: "open", steps: [], outputs: [], fields, body: withoutSecrets(value) as Json };
  }
  const entries = body.fieldReport
    .close((path) => ["dropped", { why: whyDropped(value, type, path, context.uses) }])
    .map((entry) => decided(entry, context));
  const comments = entries.flatMap(({ field, outcome, why }) => (outcome === "decision" ? [`${field}: ${why}`] : []));
  const jobs = converted.jobs.map((job, at) => (at === converted.jobs.length - 1 ? { ...job, comments } : job));
  context.converted.set(index, { ...converted, jobs });
  const steps = converted.jobs.flatMap(({ shift, variations }) => [
    ...(shift === null ? [] : [shift.step]),
    ...variations.map(({ step }) => step),
  ]);
  return { ...base, status: "migrated", steps, outputs: converted.outputs, fields: entries, body: null };
}

function decided(entry: FieldEntry, { options }: MigrationContext): FieldEntry {
  const { isLost, ...rest } = entry;
  if (!isLost || !options.leaveOut.has(lossKey(entry))) return entry;
  return { ...rest, outcome: "dropped", why: `${entry.why}; left out as decided`, choices: [] };
}

const NOTHING_MADE = { makes: { kind: "image", count: 0 }, steps: [], outputs: [] } as const;

export function assetReport(
  { index, source, value }: Extract<Checked, { is: "asset" }>,
  context: MigrationContext,
): BodyReport {
  const fieldReport = new FieldReport(value);
  if (value.name != null)
    fieldReport.note(["name"], "converted", {
      why: "becomes the name of the file that you supply (if a request body uses the asset)",
    });
  if ("type" in value) fieldReport.note(["type"], "converted", { why: "determines what kind of file to supply" });
  const fields = fieldReport.close((path) => ["dropped", { why: whyDropped(value, null, path, context.uses) }]);
  const base = { number: index + 1, at: source.at, type: "asset", status: "asset" } as const;
  return { ...base, ...NOTHING_MADE, fields, body: null };
}

export function refusedReports(mistakes: readonly Mistake[], sources: readonly V2Source[]): readonly BodyReport[] {
  const first = new Map<V2Source, string>();
  for (const { source, also, message } of mistakes) {
    for (const refused of [source, ...(also ?? [])]) if (!first.has(refused)) first.set(refused, message);
  }
  return sources.flatMap((source, index): readonly BodyReport[] => {
    const message = first.get(source);
    if (message === undefined || !isRecord(source.value)) return [];
    const fields = new FieldReport(source.value).close(() => ["dropped", { why: `not migrated: ${message}` }]);
    const type = typeof source.value.type === "string" ? source.value.type : "unknown";
    const body = withoutSecrets(source.value) as Json;
    return [{ number: index + 1, at: source.at, type, status: "refused", ...NOTHING_MADE, fields, body }];
  });
}

const WHY: Readonly<Record<string, string>> = {
  type: "in v3 the model determines what is generated",
  workspace_id: "a v3 key belongs to one workspace",
  agent_thread_id: "v3 has no threads",
  name: "the step already has a name",
};

const MOST_USES = 3;

type Uses = ReadonlyMap<string, readonly string[]>;

function whyDropped(body: JsonRecord, type: V2Type | null, path: JsonPath, uses: Uses): string {
  const names = path.filter((part) => typeof part === "string");
  const name = names.at(-1) ?? "";
  const value = valueAt(body, path);
  if (names.length === 1 || (names.length === 2 && names[0] === "audio_generation")) {
    if (OWN_IDS.has(name)) return whyId(value, uses);
    if (Object.hasOwn(WHY, name)) return WHY[name] ?? "";
    if (Object.hasOwn(ANSWER_FIELDS, name)) return "part of v2's response, not of the request";
  }
  const fields = type === null ? {} : fieldsAround(fieldsOf(type), names);
  if (Object.hasOwn(fields, name)) {
    if (value === null) return "null is treated as absent";
    if (Array.isArray(value) && value.length === 0) return "an empty list has no effect";
    if (isRecord(value) && Object.keys(value).length === 0) return "an empty object has no effect";
    return WHY[name] ?? "the model does not use this field in this body";
  }
  const suggestion = suggest(name, Object.keys(fields))[0];
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  return type === null ? "not part of an upload in v3" : `${type} has no such field in v2${hint}`;
}

function whyId(value: unknown, uses: Uses): string {
  const users = [...new Set(textsIn(value).flatMap((id) => uses.get(id) ?? []))];
  if (users.length === 0) return "v3 assigns its own ids, and nothing else in this document uses this id";
  const more = users.length > MOST_USES ? ` and ${users.length - MOST_USES} more` : "";
  return `v3 assigns its own ids; the output with this id is used by ${users.slice(0, MOST_USES).join(", ")}${more}`;
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function fieldsAround(fields: Fields, names: readonly string[]): Fields {
  let at = fields;
  for (const name of names.slice(0, -1)) {
    const field: Field | undefined = Object.hasOwn(at, name) ? at[name] : undefined;
    const shape = field?.shape.is === "list" ? field.shape.item : field?.shape;
    if (shape?.is !== "record") return {};
    at = shape.fields;
  }
  return at;
}
