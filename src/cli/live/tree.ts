import type { Talk } from "../talk.ts";
import { duration } from "../text/duration.ts";
import { shorten, visible } from "../text/escape.ts";
import { dollars } from "../text/money.ts";
import { expectedEnd, type Remaining, remainingOf } from "./remaining.ts";
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
  const shown = steps.length <= room ? steps : whatMoves(steps, room - 1);
  const nameWidth = Math.max(0, ...shown.map((step) => (depths.get(step.path) ?? 0) * 2 + visible(step.path).length));
  const lines = shown.map((step) =>
    stepLine(step, depths.get(step.path) ?? 0, Math.min(nameWidth, options.width >> 1), options),
  );
  if (shown.length < steps.length) lines.push(shorten(`  … ${restText(steps, shown)}`, options.width));
  return [...lines, summary(view, options)].join("\n");
}

function depthsOf(view: RunView): Map<string, number> {
  const depths = new Map<string, number>();
  for (const step of view.steps.values()) {
    depths.set(step.path, Math.max(-1, ...step.needs.map((need) => depths.get(need) ?? 0)) + 1);
  }
  return depths;
}

/** When not every step fits: those that move or failed, then those that just ended. What waits is a count. */
function whatMoves(steps: readonly StepView[], room: number): StepView[] {
  const needsEyes = ({ phase }: StepView) => phase === "failed" || phase === "unresolved" || phase === "asking you";
  const isMoving = (step: StepView) => step.phase !== "waiting" && step.finishedAt === null;
  const ended = steps.filter(({ finishedAt, phase }) => finishedAt !== null && phase !== "skipped");
  const lately = ended.toSorted((a, b) => b.finishedAt! - a.finishedAt!);
  const chosen = new Set(
    [...steps.filter(needsEyes).slice(0, room >> 1), ...steps.filter(isMoving), ...lately].slice(0, room),
  );
  return steps.filter((step) => chosen.has(step));
}

/** What is not shown, counted: `12 waiting, 30 done`. */
function restText(steps: readonly StepView[], shown: readonly StepView[]): string {
  const counts = new Map<Phase, number>();
  const isShown = new Set(shown);
  for (const step of steps) if (!isShown.has(step)) counts.set(step.phase, (counts.get(step.phase) ?? 0) + 1);
  const waiting = counts.get("waiting");
  const others = [...counts].filter(([phase]) => phase !== "waiting").map(([phase, count]) => `${count} ${phase}`);
  return [...(waiting === undefined ? [] : [`${waiting} waiting`]), ...others].join(", ");
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
  const again = step.attempt > 1 ? ` (attempt ${step.attempt})` : "";
  return progressText(step) + again;
}

function progressText(step: StepView): string {
  if (step.fraction === null || step.finishedAt !== null) return step.phase;
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
  if (view.startedAt !== null) parts.push(duration(tookUntil(view, options.now)));
  const left = view.status === "running" ? remainingOf(view, options) : null;
  if (left !== null) parts.push(...remainingText(left));
  if (options.rate !== undefined) {
    const { perMinute, limitPerMinute } = options.rate;
    parts.push(`${perMinute}${limitPerMinute === null ? "" : ` of ${limitPerMinute}`} requests/min`);
  }
  return fitting([`  ${view.status}`, ...parts], options.width);
}

function tookUntil({ took: { ms, since } }: RunView, now: number): number {
  return ms + (since === null ? 0 : Math.max(0, now - since));
}

function remainingText({ ms, isLeast }: Remaining): readonly string[] {
  if (!isLeast) return ms > 0 ? [`about ${duration(ms)} left`] : [];
  return [ms > 0 ? `at least ${duration(ms)} left` : "time left unknown"];
}

/** As many of the parts as the line holds, whole ones only, the first ones first. */
function fitting(parts: readonly string[], width: number): string {
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? part : `${line}  ${part}`;
    if ([...longer].length > width) break;
    line = longer;
  }
  return line === "" ? shorten(parts[0] ?? "", width) : line;
}
