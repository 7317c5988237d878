import type { Pipeline } from "../../define/index.ts";
import type { Migration } from "../migrate.ts";
import { camel } from "../names.ts";
import type { MigrationReport, VerificationReport } from "../report/report.ts";

/** What runs a pipeline; `openShowrunner()` gives one. */
export interface Runner {
  run(
    pipeline: Pipeline,
    input: unknown,
    options?: RunSettings,
  ): Promise<{ events(): AsyncIterable<object>; result(): Promise<RunView> }>;
}

interface RunSettings {
  readonly maxUnquoted?: string;
  readonly outDir?: string;
  readonly id?: string;
  readonly signal?: AbortSignal | undefined;
}

interface RunView {
  readonly status: string;
  readonly outputs: unknown;
}

export interface VerifyOptions {
  /** A value for every input of the pipeline. */
  readonly input: unknown;
  /** Folder of the files that the run makes. */
  readonly outDir: string;
  /** The pipeline of the written source. Default: the migration's own. */
  readonly pipeline?: Pipeline | undefined;
  /** Name of the run. Default `verify`. */
  readonly id?: string | undefined;
  /** Aborting stops the run, which then counts as not proven. */
  readonly signal?: AbortSignal | undefined;
  /** Told with each step that is through. */
  readonly onProgress?: ((progress: { readonly done: number; readonly total: number }) => void) | undefined;
}

type Kind = VerificationReport["expected"][number]["kind"];

/**
 * Runs the migrated pipeline, on a service where that costs nothing, and compares what it makes with what the v2 work
 * would have made: as many outputs of each kind, body by body.
 */
export async function verifyMigration(
  migration: Migration,
  runner: Runner,
  options: VerifyOptions,
): Promise<Migration> {
  const pipeline = options.pipeline ?? migration.pipeline;
  if (pipeline === null) return migration;
  const { outDir, id = "verify", signal, onProgress } = options;
  const run = await runner.run(pipeline, options.input, { maxUnquoted: "1000000", outDir, id, signal });
  let done = 0;
  for await (const update of run.events()) {
    if (isStepEnd(update)) onProgress?.({ done: ++done, total: migration.report.steps.length });
  }
  const { status, outputs } = await run.result();
  return { ...migration, report: { ...migration.report, verification: compare(migration.report, status, outputs) } };
}

function isStepEnd(update: { readonly event?: unknown }): boolean {
  const { event } = update;
  return typeof event === "object" && event !== null && "type" in event && event.type === "step.finished";
}

/** Expected and found outputs of a run, body by body. */
export function compare(report: MigrationReport, status: string, outputs: unknown): VerificationReport {
  const found = kindsByStep(outputs);
  const migrated = report.bodies.filter((body) => body.status === "migrated");
  const differences = migrated.flatMap(({ at, makes, outputs: steps }): readonly string[] => {
    const kinds = steps.map((step) => found.get(camel(step)) ?? "nothing");
    const right = kinds.filter((kind) => kind === makes.kind).length;
    if (right === makes.count && kinds.length === makes.count) return [];
    return [`${at}: v2 makes ${makes.count} × ${makes.kind}; the pipeline made ${kinds.join(", ") || "nothing"}`];
  });
  const isDone = status === "succeeded";
  return {
    ok: isDone && differences.length === 0,
    status,
    expected: tally(migrated.flatMap(({ makes }) => Array.from({ length: makes.count }, () => makes.kind))),
    found: tally([...found.values()].filter((kind) => kind !== "nothing")),
    differences: isDone ? differences : [`the run ended as ${status}`, ...differences],
    uncovered: report.bodies.filter(({ status: is }) => is === "open" || is === "refused").map(({ at }) => at),
  };
}

function kindsByStep(outputs: unknown): ReadonlyMap<string, Kind | "nothing"> {
  const entries = typeof outputs === "object" && outputs !== null ? Object.entries(outputs) : [];
  return new Map(entries.map(([name, value]) => [name, kindOf(value)]));
}

/** By the bytes that were made, not by what the catalog promises. */
function kindOf(output: unknown): Kind | "nothing" {
  if (typeof output !== "object" || output === null) return "nothing";
  if ("voiceId" in output && typeof output.voiceId === "string") return "voice";
  const type = "contentType" in output ? String(output.contentType) : "";
  return (["image", "video", "audio"] as const).find((kind) => type.startsWith(`${kind}/`)) ?? "nothing";
}

function tally(kinds: readonly (Kind | "nothing")[]): VerificationReport["expected"] {
  return (["image", "video", "audio", "voice"] as const)
    .map((kind) => ({ kind, count: kinds.filter((one) => one === kind).length }))
    .filter(({ count }) => count > 0);
}
