import { hash } from "node:crypto";
import type { Pipeline } from "../define/index.ts";
import type { Catalog } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";
import { convert } from "./bodies/convert.ts";
import { batchOf } from "./bodies/variations.ts";
import { type Body, given, type MadeBody } from "./body.ts";
import { Desk, type StockVoice } from "./desk.ts";
import { explain } from "./explain.ts";
import type { PipelineInput } from "./expression.ts";
import { isRecord, type JsonPath, pathText } from "./json-path.ts";
import { Ledger } from "./ledger.ts";
import { usedInputs } from "./made.ts";
import { TYPE_FACTS } from "./models/need.ts";
import { kebab } from "./names.ts";
import { type Cycle, type Edge, inOrder, usedIds } from "./order.ts";
import { pipelineOf } from "./pipeline.ts";
import { bodiesOf } from "./read/bodies.ts";
import { readText } from "./read/read-text.ts";
import type { ReadBodies, ReadProblem, V2Source } from "./read/source.ts";
import { decisionsOf } from "./report/decisions.ts";
import { redacted } from "./report/redact.ts";
import type { BodyReport, MigrationProblem, MigrationReport } from "./report/report.ts";
import { writeSource } from "./source/write-source.ts";
import { mistakesIn, typeOf } from "./v2/check.ts";
import type { V2Type } from "./v2/types.ts";

export interface MigrateOptions {
  /** The v3 models to migrate to: `fetchCatalog(client)` or `readSnapshot(file)`. */
  readonly catalog: Catalog;
  /** v2 model slugs to v3 model ids, and v2 voice ids to v3 ones. Default: none. */
  readonly map?: { readonly [v2: string]: string } | undefined;
  /** Name of the pipeline. Default `migrated`. */
  readonly name?: string | undefined;
  /** What the source imports its models from. Default `./models.ts`. */
  readonly modelsModule?: string | undefined;
  /** Bodies that one pipeline holds at most; those beyond it are problems. Default 20 000. */
  readonly maxBodies?: number | undefined;
  /** Voices by model, offered where a v2 voice has to be replaced. Default: none. */
  readonly voices?: { readonly [model: string]: readonly StockVoice[] } | undefined;
}

/** v2 work as a v3 pipeline. */
export interface Migration {
  readonly name: string;
  /** TypeScript of the pipeline, its default export; null when nothing could be migrated. */
  readonly source: string | null;
  /** The same pipeline, to plan, price and run at once; null likewise. */
  readonly pipeline: Pipeline | null;
  /** What became of every field; plain JSON. */
  readonly report: MigrationReport;
  /** What the pipeline returns, by name: the kinds that the v2 work would have made. */
  readonly outputs: { readonly [name: string]: MadeBody["yields"] };
  readonly inputs: readonly PipelineInput[];
}

/**
 * Carries v2 work over: a body, a list of them, or an exported automation flow, as values or as text (JSON or JSON
 * Lines). Never throws for what is wrong with them: that is in `report.problems`, each with its place, and everything
 * else is migrated. Pure: the same value and options give the same bytes.
 */
export function migrateV2(value: unknown, options: MigrateOptions): Migration {
  const read: ReadBodies = typeof value === "string" ? readText(value) : { ...bodiesOf(value), locate: null };
  return migrateBodies(read, options);
}

/** {@link migrateV2} of bodies that have been read. */
export function migrateBodies(all: ReadBodies, options: MigrateOptions): Migration {
  const read = bounded(all, options.maxBodies ?? MAX_BODIES);
  const desk = new Desk({
    catalog: options.catalog,
    map: new Map(Object.entries(options.map ?? {})),
    voices: new Map(Object.entries(options.voices ?? {})),
  });
  const name = kebab(options.name ?? "migrated") ?? "migrated";
  const { bodies, mistakes } = check(read.sources, desk);
  noteIdentities(read.sources, desk);
  const { reports, cycles } = convertAll(bodies, desk, read.sources);
  const refused = refusedReports([...mistakes, ...cycles], read.sources);
  const inputs = usedInputs(desk);
  const made = desk.made.size > 0 ? { name, desk, inputs, modelsModule: options.modelsModule ?? "./models.ts" } : null;
  const problems = [...read.problems.map(reported), ...located([...mistakes, ...cycles], read)].sort(inDocumentOrder);
  const report: MigrationReport = {
    version: 1,
    pipeline: name,
    sourceSha256: null,
    format: read.format,
    bodies: [...reports, ...refused].sort((a, b) => a.number - b.number),
    steps: stepsOf(desk),
    inputs: inputs.map((input) => ({
      name: input.name,
      is: input.is,
      kind: input.is === "file" ? input.kind : null,
      why: input.why,
      choices: input.is === "choice" ? input.values : [],
    })),
    decisions: decisionsOf(reports),
    problems,
    left: read.left,
    price: null,
    verification: null,
  };
  const source = made === null ? null : writeSource(made, report);
  return {
    name,
    source,
    pipeline: made === null ? null : pipelineOf(made),
    report: { ...report, sourceSha256: source === null ? null : hash("sha256", source) },
    outputs: outputsOf(desk),
    inputs,
  };
}

const MAX_BODIES = 20_000;

/** A pipeline of more is no source that anyone reads; what is beyond is said, not left out in silence. */
function bounded(read: ReadBodies, most: number): ReadBodies {
  const rest = read.sources.slice(most);
  const [first] = rest;
  if (first === undefined) return read;
  const message = `is one of ${rest.length} bodies beyond the ${most} that one pipeline holds: split the document`;
  const [place] = read.locate?.([{ source: first, path: [] }]) ?? [];
  const problem: ReadProblem = {
    code: "too-many-bodies",
    at: first.at,
    path: first.path,
    line: place?.line ?? null,
    column: place?.column ?? null,
    message,
  };
  return { ...read, sources: read.sources.slice(0, most), problems: [...read.problems, problem] };
}

interface Mistake {
  readonly code: string;
  readonly source: V2Source;
  readonly path: JsonPath;
  readonly message: string;
  /** Others that it concerns. */
  readonly also?: readonly V2Source[];
}

type Checked = { readonly index: number; readonly source: V2Source } & (
  | { readonly is: "asset"; readonly value: { readonly [key: string]: unknown } }
  | { readonly is: "body"; readonly body: Body }
);

/** Sorts out what v2 would refuse. */
function check(sources: readonly V2Source[], desk: Desk): { bodies: readonly Checked[]; mistakes: readonly Mistake[] } {
  const bodies: Checked[] = [];
  const mistakes: Mistake[] = [];
  for (const [index, source] of sources.entries()) {
    const { value } = source;
    if (!isRecord(value)) {
      mistakes.push({ code: "not-a-body", source, path: [], message: "is not an object, so it is no v2 body" });
      continue;
    }
    if (source.is === "asset") {
      const kind = (["image", "video", "audio"] as const).find((one) => one === value.type) ?? null;
      desk.assets.set(index, {
        name: String(value.name ?? source.label ?? "asset"),
        kind: value.type === "voice" ? "audio" : kind,
      });
      bodies.push({ index, source, is: "asset", value });
      continue;
    }
    const type = typeOf(value);
    const found = typeof type === "string" ? mistakesIn(value, type) : [type];
    for (const { code, path, message } of found) mistakes.push({ code, source, path, message });
    if (typeof type !== "string" || found.length > 0) continue;
    const body = {
      index,
      source,
      type,
      value,
      ledger: new Ledger(value),
      name: nameFor(value, type, index, source, desk),
    };
    bodies.push({ index, source, is: "body", body });
  }
  return { bodies, mistakes };
}

const SHORT: Readonly<Record<V2Type, string>> = {
  image: "image",
  image_to_image: "image",
  video: "video",
  text_to_speech: "speech",
  text_to_sound: "sound",
  speech_to_speech: "speech",
  voice_clone: "voice",
  audio_isolation: "isolation",
  image_upscale: "upscale",
  video_upscale: "upscale",
  video_to_video: "restyle",
  motion_control: "motion",
};

/** By its own name, by the node's, else by type and position, so that the report and the source are read side by side. */
function nameFor(
  value: { readonly [key: string]: unknown },
  type: V2Type,
  index: number,
  source: V2Source,
  desk: Desk,
): string {
  const own = typeof value.name === "string" && !/[{}]/.test(value.name) ? kebab(value.name) : null;
  const label = source.label === null ? null : kebab(source.label.replace(/^(?:generate|create|make|render)\s+/i, ""));
  const name = own ?? label ?? `${index + 1}`;
  return desk.names.take(/^\d/.test(name) ? `${SHORT[type]}-${name}` : name);
}

/** Ids by which other bodies may use what a body makes; the first body that claims one keeps it. */
function noteIdentities(sources: readonly V2Source[], desk: Desk): void {
  for (const [index, { value }] of sources.entries()) {
    if (!isRecord(value)) continue;
    const claim = (id: unknown, variation: number) => {
      if (typeof id === "string" && id !== "" && !desk.identities.has(id))
        desk.identities.set(id, { index, variation });
    };
    for (const field of ["reserved_asset_id", "asset_id", "generation_id", "id"]) claim(value[field], 0);
    for (const field of ["reserved_asset_ids", "generation_ids"]) {
      const ids = value[field];
      if (Array.isArray(ids)) for (const [variation, id] of ids.entries()) claim(id, variation);
    }
    const results = value.batch_results;
    if (!Array.isArray(results)) continue;
    for (const [variation, result] of results.entries()) {
      if (!isRecord(result)) continue;
      claim(result.asset_id, variation);
      claim(result.id, variation);
    }
  }
}

function convertAll(checked: readonly Checked[], desk: Desk, sources: readonly V2Source[]) {
  const byIndex = new Map(checked.map((one) => [one.index, one]));
  const edgesOf = (index: number): readonly Edge[] => {
    const one = byIndex.get(index);
    if (one?.is !== "body") return [];
    return usedIds(one.body.value, one.body.type).flatMap(({ path, id }): readonly Edge[] => {
      const link = desk.link(one.body, id);
      return link.to === "body" && byIndex.has(link.index) ? [{ to: link.index, path }] : [];
    });
  };
  const { order, cycles } = inOrder(sources.length, edgesOf);
  const reports: BodyReport[] = [];
  for (const index of order) {
    const one = byIndex.get(index);
    if (one === undefined) continue;
    reports.push(one.is === "asset" ? assetReport(one) : bodyReport(one.body, desk));
  }
  reports.sort((a, b) => a.number - b.number);
  return { reports, cycles: cycles.map((cycle) => cycleMistake(cycle, sources)) };
}

function cycleMistake({ nodes, paths }: Cycle, sources: readonly V2Source[]): Mistake {
  const [first = 0] = nodes;
  const trail = nodes.map((node, at) => `${sources[node]?.at} uses, in ${pathText(paths[at] ?? [])},`);
  const message = `its ids run in a circle, so no order of jobs can make them: ${trail.join(" ")} what ${sources[first]?.at} makes`;
  const also = nodes.slice(1).flatMap((node) => sources[node] ?? []);
  return { code: "cyclic-ids", source: sources[first] as V2Source, path: paths[0] ?? [], message, also };
}

function bodyReport(body: Body, desk: Desk): BodyReport {
  const { index, source, type, value } = body;
  const makes = { kind: TYPE_FACTS[type].yields, count: batchOf(body) };
  const base = { number: index + 1, at: source.at, type, makes };
  const converted = convert(desk, body);
  if ("open" in converted) {
    const ledger = new Ledger(value);
    const choices = ["leave this body on v2", "choose a v3 model with --map"];
    const fields = ledger.close(() => ["decision", { why: converted.open, choices }]).map(cleaned);
    return { ...base, status: "open", steps: [], outputs: [], fields, body: redacted(value) as Json };
  }
  desk.made.set(index, converted);
  const entries = body.ledger.close(explain(value, type));
  const comments = entries.flatMap(({ field, outcome, why }) => (outcome === "decision" ? [`${field}: ${why}`] : []));
  const jobs = converted.jobs.map((job, at) => (at === converted.jobs.length - 1 ? { ...job, comments } : job));
  desk.made.set(index, { ...converted, jobs });
  const steps = converted.jobs.flatMap(({ shift, variations }) => [
    ...(shift === null ? [] : [shift.step]),
    ...variations.map(({ step }) => step),
  ]);
  return { ...base, status: "migrated", steps, outputs: converted.outputs, fields: entries.map(cleaned), body: null };
}

function assetReport({ index, source, value }: Extract<Checked, { is: "asset" }>): BodyReport {
  const ledger = new Ledger(value);
  if (given({ value } as Body, "name") !== undefined) {
    ledger.note(["name"], "converted", { why: "names the file to supply, where a body uses it" });
  }
  if ("type" in value) ledger.note(["type"], "converted", { why: "the kind of the file to supply" });
  const fields = ledger.close(explain(value, null)).map(cleaned);
  const makes = { kind: "image", count: 0 } as const;
  const base = { number: index + 1, at: source.at, type: "asset", status: "asset", makes } as const;
  return { ...base, steps: [], outputs: [], fields, body: null };
}

/** A body that is not migrated stands in the report as it was, each field with the first reason. */
function refusedReports(mistakes: readonly Mistake[], sources: readonly V2Source[]): readonly BodyReport[] {
  const first = new Map<V2Source, string>();
  for (const { source, also, message } of mistakes) {
    for (const one of [source, ...(also ?? [])]) if (!first.has(one)) first.set(one, message);
  }
  return sources.flatMap((source, index): readonly BodyReport[] => {
    const message = first.get(source);
    if (message === undefined || !isRecord(source.value)) return [];
    const fields = new Ledger(source.value).close(() => ["dropped", { why: `not migrated: ${message}` }]).map(cleaned);
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

function located(mistakes: readonly Mistake[], read: ReadBodies): readonly MigrationProblem[] {
  const places = read.locate?.(mistakes.map(({ source, path }) => ({ source, path })));
  return mistakes.map(({ code, source, path, message }, index) => ({
    code,
    at: source.at,
    field: path.length === 0 ? null : pathText(path),
    line: places?.[index]?.line ?? null,
    column: places?.[index]?.column ?? null,
    message,
  }));
}

function inDocumentOrder(a: MigrationProblem, b: MigrationProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

function reported({ code, at, line, column, message }: ReadProblem): MigrationProblem {
  return { code, at, field: null, line, column, message };
}

function stepsOf(desk: Desk): MigrationReport["steps"] {
  return [...desk.made.values()].flatMap(({ jobs }) =>
    jobs.flatMap(({ view, variations, body }) =>
      variations.map(({ step }) => ({ name: step, model: view.id, yields: view.yields, body: body + 1 })),
    ),
  );
}

function outputsOf(desk: Desk): Migration["outputs"] {
  return Object.fromEntries(
    [...desk.made.values()].flatMap(({ outputs, yields }) => outputs.map((step) => [step, yields] as const)),
  );
}
