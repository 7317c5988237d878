import { formatDuration, lateText } from "../../core/kit/duration.ts";
import { dollars } from "../../core/kit/money.ts";
import { expectedSpanMs, traitsOf } from "../../core/plan/index.ts";
import { type RunUpdate, RunView, type StepView } from "../../core/view/index.ts";
import type { PlanStep } from "../../index.ts";
import type { CommandOutput } from "../io.ts";
import { visible } from "../text/escape.ts";
import { padEnd, shorten, widthOf } from "../text/table.ts";

export type ExpectedMs = ((step: PlanStep) => number | null) | undefined;

function expectedEnd(step: StepView, live: LiveRun, expectedMs: ExpectedMs): number | null {
  const { etaAt } = live.progress(step);
  if (etaAt !== null) return etaAt;
  const queuedAt = step.current?.submittedAt ?? null;
  const expected = expectedMs?.(step.plan) ?? null;
  const isAtService = step.phase === "queued" || step.phase === "rendering";
  return isAtService && expected !== null && queuedAt !== null ? queuedAt + expected : null;
}

/**
 * Returns the remaining time of a run. `isLeast` means that `ms` is only a minimum, because some durations are unknown.
 */
export function remainingOf(live: LiveRun, options: Expected) {
  const { steps: all = [], state } = live.view ?? {};
  const open = all.filter(({ finishedAt }) => finishedAt === null);
  const left = new Map(open.map((step) => [step.path, stepLeft(step, live, options)]));
  const steps = open.map(({ plan }): PlanStep => ({ ...plan, needs: plan.needs.filter((path) => left.has(path)) }));
  const durationMs = ({ path }: PlanStep) => left.get(path) ?? 0;
  const isLeast = open.some((step) => left.get(step.path) === null || isUnplanned(step, all));
  const plan = { version: 1, pipeline: "", steps, returns: {} } as const;
  const limits = state?.planned.limits;
  return { ms: limits === undefined ? 0 : expectedSpanMs(plan, durationMs, limits), isLeast };
}

function isUnplanned({ plan, path }: StepView, steps: readonly StepView[]): boolean {
  return traitsOf(plan).expansion !== null && !steps.some((one) => one.path.startsWith(`${path}/`));
}

function stepLeft(step: StepView, live: LiveRun, { now, expectedMs }: Expected): number | null {
  if (traitsOf(step.plan).decision !== null) return null;
  const end = expectedEnd(step, live, expectedMs);
  if (end !== null) return Math.max(0, end - now);
  if (step.model === null) return 0;
  return expectedMs?.(step.plan) ?? null;
}

export interface TreeOptions {
  readonly now: number;
  readonly width: number;
  readonly height: number;
  readonly paint: CommandOutput["paint"];
  readonly expectedMs?: ExpectedMs;
  /** The time until the rate limit lets the next request through. Null if no request waits. */
  readonly limitWaitMs?: number | null;
}

type Expected = Pick<TreeOptions, "now" | "expectedMs">;

const marks: Readonly<
  Record<StepView["phase"], readonly [mark: string, style: "dim" | "cyan" | "green" | "yellow" | "red"]>
> = {
  waiting: ["·", "dim"],
  approval: ["?", "yellow"],
  asking: ["→", "cyan"],
  working: ["*", "cyan"],
  choosing: ["*", "cyan"],
  planning: ["*", "cyan"],
  uploading: ["↑", "cyan"],
  pricing: ["$", "cyan"],
  submitting: ["→", "cyan"],
  queued: ["○", "cyan"],
  rendering: ["◐", "cyan"],
  downloading: ["↓", "cyan"],
  succeeded: ["✓", "green"],
  partial: ["◑", "yellow"],
  failed: ["✗", "red"],
  skipped: ["–", "dim"],
  cancelled: ["–", "yellow"],
  unresolved: ["?", "red"],
};

const names: { readonly [P in StepView["phase"]]?: string } = { approval: "asking you", succeeded: "done" };

export function renderTree(live: LiveRun, options: TreeOptions): string {
  const { view } = live;
  if (view === null) return "";
  const { steps } = view;
  const depths = live.kept("depths", view.state.planned.plan, options.now, () => depthsOf(steps));
  const most = Math.max(1, options.height - 3);
  const shown = steps.length <= most ? steps : whatMoves(steps, most - 1);
  const nameWidth = Math.max(0, ...shown.map((step) => (depths.get(step.path) ?? 0) * 2 + widthOf(visible(step.path))));
  const width = Math.min(nameWidth, options.width >> 1);
  const lines = shown.map((step) =>
    stepLine(step, live, { ...options, depth: depths.get(step.path) ?? 0, nameWidth: width }),
  );
  if (shown.length < steps.length) lines.push(shorten(`  … ${restText(steps, shown)}`, options.width));
  return [...lines, summary(live, steps, view.state, options)].join("\n");
}

function depthsOf(steps: readonly StepView[]): Map<string, number> {
  const depths = new Map<string, number>();
  for (const { path, plan } of steps) {
    depths.set(path, Math.max(-1, ...plan.needs.map((need) => depths.get(need) ?? 0)) + 1);
  }
  return depths;
}

/** Chooses the steps to show. If not all steps fit, prefers failed and active steps. */
function whatMoves(steps: readonly StepView[], most: number): StepView[] {
  const needsEyes = ({ phase }: StepView) => phase === "failed" || phase === "unresolved" || phase === "approval";
  const isMoving = (step: StepView) => step.phase !== "waiting" && step.finishedAt === null;
  const ended = steps.filter(({ finishedAt, phase }) => finishedAt !== null && phase !== "skipped");
  const lately = ended.toSorted((a, b) => b.finishedAt! - a.finishedAt!);
  const chosen = new Set(
    [...steps.filter(needsEyes).slice(0, most >> 1), ...steps.filter(isMoving), ...lately].slice(0, most),
  );
  return steps.filter((step) => chosen.has(step));
}

function restText(steps: readonly StepView[], shown: readonly StepView[]): string {
  const counts = new Map<string, number>();
  const isShown = new Set(shown);
  for (const step of steps) {
    const name = names[step.phase] ?? step.phase;
    if (!isShown.has(step)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const waitingFirst = [...counts].sort(([a], [b]) => Number(b === "waiting") - Number(a === "waiting"));
  return waitingFirst.map(([name, count]) => `${count} ${name}`).join(", ");
}

type LineOptions = TreeOptions & { readonly depth: number; readonly nameWidth: number };

function stepLine(step: StepView, live: LiveRun, options: LineOptions): string {
  const { depth, nameWidth, width, paint } = options;
  const [mark, style] = marks[step.phase];
  const name = padEnd(shorten(`${"  ".repeat(depth)}${visible(step.path)}`, nameWidth), nameWidth);
  const rest = shorten(`  ${details(step, live, options)}`, Math.max(0, width - nameWidth - 4));
  return `${paint(style, mark)} ${name}${paint("dim", rest)}`;
}

function details(step: StepView, live: LiveRun, { now, expectedMs }: TreeOptions): string {
  const parts = [phaseText(step, live)];
  if (step.finishedAt !== null && step.startedAt !== null) parts.push(formatDuration(step.finishedAt - step.startedAt));
  else {
    const endsAt = expectedEnd(step, live, expectedMs);
    if (endsAt !== null && endsAt > now) parts.push(`about ${formatDuration(endsAt - now)} left`);
  }
  const price = priceOf(step);
  if (step.costMicros !== null) parts.push(dollars(step.costMicros));
  else if (price !== null) parts.push(`(${dollars(price)})`);
  const reason = step.reason ?? step.approval?.note ?? step.error?.message ?? null;
  if (reason !== null) parts.push(visible(reason));
  else if (step.late !== null) parts.push(visible(lateText(step.late, now)));
  else if (step.reusedFrom !== null) parts.push(`reused from run ${visible(step.reusedFrom.runId)}`);
  return parts.join("  ");
}

function priceOf({ current }: StepView): number | null {
  if (current === null) return null;
  return current.sentAt === null ? (current.quote?.costMicros ?? null) : current.holdMicros;
}

function phaseText(step: StepView, live: LiveRun): string {
  const { current } = step;
  const again = current !== null && current.sentAt !== null && current.n > 1 ? ` (attempt ${current.n})` : "";
  return progressText(step, live) + again;
}

function progressText(step: StepView, live: LiveRun): string {
  const name = names[step.phase] ?? step.phase;
  const { fraction } = live.progress(step);
  if (fraction === null || fraction === 0) return name;
  const done = `${bar(fraction)} ${String(Math.round(fraction * 100)).padStart(3)}%`;
  return step.phase === "rendering" ? done : `${name} ${done}`;
}

const barWidth = 12;

function bar(fraction: number): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * barWidth);
  return "█".repeat(full) + "░".repeat(barWidth - full);
}

function summary(live: LiveRun, steps: readonly StepView[], state: RunView["state"], options: TreeOptions): string {
  const { spentMicros, heldMicros, budgetMicros, status, pause, activeTime } = state;
  const done = steps.filter((step) => step.finishedAt !== null).length;
  const isOwn = budgetMicros !== null && state.planned.budgetTag === undefined;
  const parts = [
    `${done}/${steps.length} steps`,
    `spent ${dollars(spentMicros)}${isOwn ? ` of ${dollars(budgetMicros)}` : ""}`,
  ];
  if (heldMicros > 0) parts.push(`held ${dollars(heldMicros)}`);
  parts.push(
    formatDuration(activeTime.ms + (activeTime.since === null ? 0 : Math.max(0, options.now - activeTime.since))),
  );
  const isRunning = status === "running";
  const left = isRunning
    ? live.kept("remaining", state.planned.plan, options.now, () => remainingOf(live, options))
    : null;
  if (left !== null) parts.push(...remainingText(left));
  if (options.limitWaitMs != null) parts.push(`rate limit: next request in ${formatDuration(options.limitWaitMs)}`);
  return fitting([`  ${status}${pause === null ? "" : ` (${pause.reason})`}`, ...parts], options.width);
}

function remainingText({ ms, isLeast }: ReturnType<typeof remainingOf>): readonly string[] {
  if (!isLeast) return ms > 0 ? [`about ${formatDuration(ms)} left`] : [];
  return [ms > 0 ? `at least ${formatDuration(ms)} left` : "time left unknown"];
}

function fitting(parts: readonly string[], width: number): string {
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? part : `${line}  ${part}`;
    if ([...longer].length > width) break;
    line = longer;
  }
  return line === "" ? shorten(parts[0] ?? "", width) : line;
}

interface StepProgress {
  readonly fraction: number | null;
  readonly etaAt: number | null;
}

const unknown: StepProgress = { fraction: null, etaAt: null };

const KEPT_MS = 1_000;
const MANY_STEPS = 500;

export class LiveRun {
  #view: RunView | null = null;
  /** Progress of each step by path. `of` is the stage to which the progress applies. */
  readonly #progress = new Map<string, StepProgress & { readonly of: string }>();

  readonly #kept = new Map<string, { readonly of: unknown; readonly at: number; readonly value: unknown }>();

  /**
   * Caches a computed value for at most `KEPT_MS`, or until a different `of` object is passed. Small runs are not
   * cached.
   */
  kept<T>(what: string, of: unknown, now: number, compute: () => T): T {
    const before = this.#kept.get(what);
    const isMany = (this.#view?.state.planned.plan.steps.length ?? 0) >= MANY_STEPS;
    if (isMany && before !== undefined && before.of === of && Math.abs(now - before.at) < KEPT_MS)
      return before.value as T;
    const value = compute();
    this.#kept.set(what, { of, at: now, value });
    return value;
  }

  get view(): RunView | null {
    return this.#view;
  }

  add(update: RunUpdate): void {
    if (!("type" in update)) {
      if (this.#view === null) this.#view = RunView.of([update]);
      else this.#view.add(update);
      return;
    }
    const { step: path, fraction, estimatedCompletionAt: etaAt } = update;
    const step = this.#view?.step(path);
    if (step !== undefined) this.#progress.set(path, { fraction, etaAt, of: stage(step) });
  }

  /** Returns a step's latest progress. Progress from an earlier stage of the step is ignored. */
  progress(step: StepView): StepProgress {
    const said = this.#progress.get(step.path);
    return said === undefined || said.of !== stage(step) || step.finishedAt !== null ? unknown : said;
  }
}

/**
 * Returns a key for a step's attempt and stage, to recognize outdated progress. Queueing and rendering are one stage.
 */
function stage({ phase, current }: StepView): string {
  return `${current?.n} ${phase === "queued" || phase === "rendering" ? "service" : phase}`;
}
