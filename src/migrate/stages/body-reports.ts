import type { Json } from "../../plan/plan.ts";
import { convert } from "../bodies/convert.ts";
import { batchOf } from "../bodies/variations.ts";
import { type Body, given } from "../body.ts";
import { lossKey } from "../decisions-file.ts";
import { explain } from "../explain.ts";
import { FieldReport } from "../field-report.ts";
import { isRecord } from "../json-path.ts";
import type { MigrationContext } from "../migration-context.ts";
import { TYPE_FACTS } from "../models/need.ts";
import type { V2Source } from "../read/source.ts";
import { redacted } from "../report/redact.ts";
import type { BodyReport, FieldEntry } from "../report/report.ts";
import type { Checked, Mistake } from "./check.ts";

/** Converts a body and reports its outcome. */
export function bodyReport(body: Body, context: MigrationContext): BodyReport {
  const { index, source, type, value } = body;
  const makes = { kind: TYPE_FACTS[type].yields, count: batchOf(body) };
  const base = { number: index + 1, at: source.at, type, makes };
  const converted = convert(context, body);
  if ("open" in converted) {
    const fieldReport = new FieldReport(value);
    const choices = ["leave this body on v2", "choose a v3 model with --map"];
    const fields = fieldReport.close(() => ["decision", { why: converted.open, choices }]).map(cleaned);
    return { ...base, status: "open", steps: [], outputs: [], fields, body: redacted(value) as Json };
  }
  context.converted.set(index, converted);
  const entries = body.fieldReport.close(explain(value, type, context.uses)).map((entry) => decided(entry, context));
  const comments = entries.flatMap(({ field, outcome, why }) => (outcome === "decision" ? [`${field}: ${why}`] : []));
  const jobs = converted.jobs.map((job, at) => (at === converted.jobs.length - 1 ? { ...job, comments } : job));
  context.converted.set(index, { ...converted, jobs });
  const steps = converted.jobs.flatMap(({ shift, variations }) => [
    ...(shift === null ? [] : [shift.step]),
    ...variations.map(({ step }) => step),
  ]);
  return { ...base, status: "migrated", steps, outputs: converted.outputs, fields: entries.map(cleaned), body: null };
}

/** An accepted loss is no longer a decision. */
function decided(entry: FieldEntry, { leaveOut }: MigrationContext): FieldEntry {
  const { isLost, ...rest } = entry;
  if (!isLost || !leaveOut.has(lossKey(entry))) return entry;
  return { ...rest, outcome: "dropped", why: `${entry.why}; left out as decided`, choices: [] };
}

/** An uploaded asset: a file to supply, where a body uses it. */
export function assetReport(
  { index, source, value }: Extract<Checked, { is: "asset" }>,
  context: MigrationContext,
): BodyReport {
  const fieldReport = new FieldReport(value);
  if (given({ value } as Body, "name") !== undefined) {
    fieldReport.note(["name"], "converted", { why: "names the file to supply, where a body uses it" });
  }
  if ("type" in value) fieldReport.note(["type"], "converted", { why: "the kind of the file to supply" });
  const fields = fieldReport.close(explain(value, null, context.uses)).map(cleaned);
  const makes = { kind: "image", count: 0 } as const;
  const base = { number: index + 1, at: source.at, type: "asset", status: "asset", makes } as const;
  return { ...base, steps: [], outputs: [], fields, body: null };
}

/** The unchanged body of a failed migration, each field with the first reason. */
export function refusedReports(mistakes: readonly Mistake[], sources: readonly V2Source[]): readonly BodyReport[] {
  const first = new Map<V2Source, string>();
  for (const { source, also, message } of mistakes) {
    for (const one of [source, ...(also ?? [])]) if (!first.has(one)) first.set(one, message);
  }
  return sources.flatMap((source, index): readonly BodyReport[] => {
    const message = first.get(source);
    if (message === undefined || !isRecord(source.value)) return [];
    const fields = new FieldReport(source.value)
      .close(() => ["dropped", { why: `not migrated: ${message}` }])
      .map(cleaned);
    const type = typeof source.value.type === "string" ? source.value.type : "unknown";
    const base = {
      number: index + 1,
      at: source.at,
      type,
      status: "refused",
      makes: { kind: "image", count: 0 },
    } as const;
    return [{ ...base, steps: [], outputs: [], fields, body: redacted(source.value) as Json }];
  });
}

function cleaned(entry: BodyReport["fields"][number]): BodyReport["fields"][number] {
  return {
    ...entry,
    value: redacted(entry.value) as Json,
    newValue: redacted(entry.newValue) as Json,
    why: redacted(entry.why) as string | null,
  };
}
