import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ServiceStats } from "showrunner-local";
import type { RunResult, RunState } from "../internal.ts";
import { chargedElsewhere } from "./assert-paid-once.ts";

/** What a run came to, with all that must not depend on how often its engine died. */
export interface Life {
  readonly same: {
    readonly status: RunResult["status"];
    /** Path, status and value. */
    readonly steps: readonly string[];
    readonly jobs: number;
    /** Charged for jobs, refunds taken off, micro-dollars. */
    readonly chargedMicros: number;
    readonly heldMicros: number;
    /** Of every step: path, position and hash. */
    readonly files: readonly string[];
    /** Named files: name and hash of the bytes on disk. */
    readonly named: readonly string[];
    /** What the pipeline returned, without paths and ids. */
    readonly outputs: string;
  };
  /** Chat requests that the service answered. */
  readonly chats: number;
  /** Charges that the run does not know of, beyond what it put aside for chats without an answer. */
  readonly unknownMicros: number;
}

interface Ended {
  readonly result: RunResult;
  readonly outDir: string;
  readonly state: RunState;
}

export async function lifeOf(
  { result, outDir, state }: Ended,
  before: ServiceStats,
  after: ServiceStats,
): Promise<Life> {
  const { status, report, outputs } = result;
  const chatModels = new Set(
    report.steps.flatMap(({ kind, model }) => (kind === "chat" && model !== null ? [model] : [])),
  );
  const made = (stats: ServiceStats) => stats.jobs_created - chatsOf(stats);
  const chatsOf = ({ jobs_by_model: jobs }: ServiceStats) =>
    [...chatModels].reduce((sum, model) => sum + (jobs[model] ?? 0), 0);
  const net = (stats: ServiceStats) => stats.charged_micros - stats.refunded_micros;
  const chatMicros = Object.values(state.steps)
    .flatMap(({ chats }) => chats)
    .reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
  const unknown = net(after) - net(before) - (state.spentMicros - chargedElsewhere(state));
  return {
    same: {
      status,
      steps: report.steps.map((step) => `${step.path} ${step.status} ${JSON.stringify(step.value)}`),
      jobs: made(after) - made(before),
      chargedMicros: state.spentMicros - chatMicros,
      heldMicros: state.heldMicros,
      files: report.steps
        .flatMap(({ path, outputs: all }) => all.map(({ index, sha256 }) => `${path} ${index} ${sha256}`))
        .sort(),
      named: await namedFiles(
        report.steps.flatMap(({ outputs: all }) => all.flatMap(({ file }) => file ?? [])),
        outDir,
      ),
      outputs: JSON.stringify(outputs, (key, value) => (VARYING.has(key) ? undefined : value)),
    },
    chats: chatsOf(after) - chatsOf(before),
    unknownMicros: unknown < 0 ? unknown : Math.max(0, unknown - state.unconfirmedMicros),
  };
}

/** Named by the service or by the folder. */
const VARYING: ReadonlySet<string> = new Set(["path", "assetId", "voiceId"]);

async function namedFiles(names: readonly string[], outDir: string): Promise<readonly string[]> {
  const hashes = names.map(async (name) => {
    const bytes = await readFile(join(outDir, name)).catch(() => null);
    return `${name} ${bytes === null ? "is not there" : createHash("sha256").update(bytes).digest("hex")}`;
  });
  return (await Promise.all(hashes)).sort();
}

const LISTED = 10;

/** What is not as it was in the life without a death, for people; empty when nothing. */
export function differences(calm: Life, life: Life): readonly string[] {
  const found = (Object.keys(calm.same) as (keyof Life["same"])[]).flatMap((name) => {
    const [was, is] = [calm.same[name], life.same[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    if (!Array.isArray(was) || !Array.isArray(is)) return [`${name}: ${short(was)} → ${short(is)}`];
    const lines = [
      ...was.filter((line) => !is.includes(line)).map((line) => `${name}: without ${short(line)}`),
      ...is.filter((line) => !was.includes(line)).map((line) => `${name}: with ${short(line)}`),
    ];
    return lines.length === 0 ? [`${name}: in another order or number`] : lines.slice(0, LISTED);
  });
  if (life.chats < calm.chats) found.push(`chats: ${calm.chats} → ${life.chats}`);
  // Only the one that was under way may have been asked again.
  if (life.chats > calm.chats + 1) found.push(`chats: ${calm.chats} → ${life.chats}, which is more than one again`);
  if (life.unknownMicros !== 0)
    found.push(`the wallet paid ${life.unknownMicros} micro-dollars that the run does not know of`);
  return found;
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
