import { dollars } from "../../../../core/kit/money.ts";
import type { RunSummary } from "../../views/document.ts";

export { formatAgo as ago } from "../../../../core/kit/duration.ts";

export function usd(micros: number | null): string {
  return micros === null ? "–" : dollars(micros).replace(/\B(?=(\d{3})+\.)/g, ",");
}

export function sumText({ min, max }: { readonly min: number; readonly max: number | null }, open: readonly string[]) {
  if (max === null) return `from ${usd(min)}; no maximum for ${open.join(", ")}`;
  return min === max ? usd(max) : `${usd(min)} to ${usd(max)}`;
}

export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour12: false });
}

export function dateTime(at: number): string {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${new Intl.NumberFormat("en-US").format(number)} ${number === 1 ? one : many}`;
}

type Pause = NonNullable<RunSummary["pause"]>;

/** Text for each reason why a run is paused. `word` is for lists, and `title` for the run's own screen. */
export const pauses: Readonly<Record<Pause["reason"], { readonly word: string; readonly title: string }>> = {
  funds: { word: "needs funds", title: "Wallet balance too low" },
  budget: { word: "over budget", title: "The next step would exceed the budget" },
  cap: { word: "daily cap reached", title: "Daily cap reached" },
  approval: { word: "needs approval", title: "Waiting for a decision" },
  stopped: { word: "stopped", title: "Stopped" },
  drift: { word: "code changed", title: "The code changed after the run was planned" },
  files: { word: "files missing", title: "Files are missing" },
  unresolved: { word: "outcome unknown", title: "The outcome of a request is unknown" },
  unanswered: { word: "no response", title: "The model did not respond to a request" },
  late: { word: "job is late", title: "A job did not finish in time" },
  code: { word: "needs its code", title: "This step needs the pipeline's code" },
  unreachable: { word: "service unavailable", title: "The service cannot be reached" },
  misdirected: { word: "wrong server", title: "A different server answered at the service's address" },
  credentials: { word: "key refused", title: "The service rejected the API key" },
};

/**
 * Describes why a run is paused. Uses `message` only for a stopped run, because other messages can contain terminal
 * commands.
 */
export function pauseText(pause: Pause, decisions: RunSummary["decisions"]): string {
  const { reason, message, requiredMicros, balanceMicros, resumeAt, asks = [], late = [], rerun } = pause;
  if (reason === "stopped") return message;
  if (asks.length > 0)
    return `New prices to accept: ${named(asks.map(({ step, costMicros }) => `${step} costs ${usd(costMicros)}`))}`;
  if (reason === "budget" && requiredMicros === null) return "The next step has no price and no maximum cost";
  const details = [
    reason === "approval" ? named(decisions.first, decisions.count) : named(late),
    balanceMicros === null ? "" : `${usd(balanceMicros)} available`,
    requiredMicros === null ? "" : `${usd(requiredMicros)} needed`,
    resumeAt === null ? "" : `can continue from ${dateTime(resumeAt)}`,
    rerun === undefined ? "" : `${rerun} must run again`,
  ].filter((detail) => detail !== "");
  return [pauses[reason].title, ...(details.length === 0 ? [] : [details.join(", ")])].join(": ");
}

const MOST_NAMED = 3;

function named(names: readonly string[], count = names.length): string {
  const shown = names.slice(0, MOST_NAMED);
  const more = count - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export type Input = Readonly<Record<string, unknown>>;

export function isInput(value: unknown): value is Input {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function differing(inputs: readonly Input[]): readonly string[] {
  const names = new Set(inputs.flatMap((input) => Object.keys(input)));
  return [...names].filter((name) => new Set(inputs.map((input) => JSON.stringify(input[name]))).size > 1);
}
