import type { Talk } from "../talk.ts";
import { duration } from "../text/duration.ts";
import { shorten, visible } from "../text/escape.ts";
import { dollars } from "../text/money.ts";
import { expectedEnd, remainingMs } from "./remaining.ts";
import { type Phase, type RunView, type StepView, spentOf } from "./run-view.ts";

export interface TreeOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Characters. */
  readonly width: number;
  /** Lines; further steps are summed up. */
  readonly height: number;
  readonly paint: Talk["paint"];
  /** How long models took before, milliseconds. Default: nothing known. */
  readonly medians?: ReadonlyMap<string, number> | undefined;
  /** API requests of the last minute, and how many the key may send in one where that is known. */
  readonly rate?: { readonly perMinute: number; readonly limitPerMinute: number | null } | undefined;
}

const marks: Readonly<Record<Phase, readonly [mark: string, style: "dim" | "cyan" | "green" | "yellow" | "red"]>> = {
  waiting: ["·", "dim"],
  "asking you": ["?", "yellow"],
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
  done: ["✓", "green"],
  partial: ["◑", "yellow"],
  failed: ["✗", "red"],
  skipped: ["–", "dim"],
  cancelled: ["–", "yellow"],
  unresolved: ["?", "red"],
};

/** The run as a tree of steps, deepest dependency first, with what each does and costs, and one line of sums. */
export function renderTree(view: RunView, options: TreeOptions): string {
  const depths = depthsOf(view);
  const steps = [...view.steps.values()];
  const room = Math.max(1, options.height - 3);
  const shown = steps.length <= room ? steps : mostTelling(steps, room - 1);
  const nameWidth = Math.max(0, ...shown.map((step) => (depths.get(step.path) ?? 0) * 2 + visible(step.path).length));
  const lines = shown.map((step) =>
    stepLine(step, depths.get(step.path) ?? 0, Math.min(nameWidth, options.width >> 1), options),
  );
  if (shown.length < steps.length) lines.push(`  … and ${steps.length - shown.length} more`);
  return [...lines, summary(view, options)].join("\n");
}

function depthsOf(view: RunView): Map<string, number> {
  const depths = new Map<string, number>();
  for (const step of view.steps.values()) {
    depths.set(step.path, Math.max(-1, ...step.needs.map((need) => depths.get(need) ?? 0)) + 1);
  }
  return depths;
}

/** When not every step fits: those that do something, then the failed, then what is next, then the rest. */
function mostTelling(steps: readonly StepView[], room: number): StepView[] {
  const rank = (phase: Phase) =>
    phase === "failed" || phase === "unresolved" ? 1 : phase === "waiting" ? 2 : phase === "done" ? 3 : 0;
  const chosen = new Set(steps.toSorted((a, b) => rank(a.phase) - rank(b.phase)).slice(0, room));
  return steps.filter((step) => chosen.has(step));
}

function stepLine(step: StepView, depth: number, nameWidth: number, options: TreeOptions): string {
  const [mark, style] = marks[step.phase];
  const name = shorten(`${"  ".repeat(depth)}${visible(step.path)}`, nameWidth).padEnd(nameWidth);
  const rest = shorten(`  ${details(step, options)}`, Math.max(0, options.width - nameWidth - 4));
  return `${options.paint(style, mark)} ${name}${options.paint("dim", rest)}`;
}

function details(step: StepView, { now, medians }: TreeOptions): string {
  const parts = [phaseText(step)];
  if (step.finishedAt !== null && step.startedAt !== null) parts.push(duration(step.finishedAt - step.startedAt));
  else {
    const endsAt = expectedEnd(step, medians);
    if (endsAt !== null && endsAt > now) parts.push(`about ${duration(endsAt - now)} left`);
  }
  if (step.costMicros !== null) parts.push(dollars(step.costMicros));
  else if (step.priceMicros !== null) parts.push(`(${dollars(step.priceMicros)})`);
  if (step.reason !== null) parts.push(visible(step.reason));
  return parts.join("  ");
}

function phaseText(step: StepView): string {
  if (step.fraction === null) return step.phase;
  const done = `${bar(step.fraction)} ${String(Math.round(step.fraction * 100)).padStart(3)} %`;
  return step.phase === "rendering" ? done : `${step.phase} ${done}`;
}

const barWidth = 12;

function bar(fraction: number): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * barWidth);
  return "█".repeat(full) + "░".repeat(barWidth - full);
}

function summary(view: RunView, options: TreeOptions): string {
  const { spentMicros, heldMicros } = spentOf(view);
  const done = [...view.steps.values()].filter((step) => step.finishedAt !== null).length;
  const parts = [
    `${done}/${view.steps.size} steps`,
    `spent ${dollars(spentMicros)}${view.budgetMicros === null ? "" : ` of ${dollars(view.budgetMicros)}`}`,
  ];
  if (heldMicros > 0) parts.push(`held ${dollars(heldMicros)}`);
  if (view.startedAt !== null) parts.push(duration(Math.max(0, options.now - view.startedAt)));
  const left = view.status === "running" ? remainingMs(view, options) : null;
  if (left !== null && left > 0) parts.push(`about ${duration(left)} left`);
  if (options.rate !== undefined) {
    const { perMinute, limitPerMinute } = options.rate;
    parts.push(`${perMinute}${limitPerMinute === null ? "" : ` of ${limitPerMinute}`} requests/min`);
  }
  return shorten(`  ${view.status}  ${parts.join("  ")}`, options.width);
}
