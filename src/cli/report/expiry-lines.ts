import type { RunReport } from "../../index.ts";
import { visible } from "../text/escape.ts";

const HOUR_MS = 3_600_000;

/** Warnings of a paused run about the 48 hours of the service; none for outputs with a local copy. */
export function expiryLines(report: RunReport, now: number): readonly string[] {
  if (report.status !== "paused") return [];
  const removed = report.expiring.filter(({ expires_at, copied }) => copied && Date.parse(expires_at) <= now);
  const healed =
    removed.length === 0
      ? []
      : [`${count(removed.length)} no longer at the service; copies here go back for free when they are needed.`];
  return [...report.expiring.filter(({ copied }) => !copied).map((one) => lineOf(one, now)), ...healed];
}

function lineOf({ step, index, expires_at, needed_by }: RunReport["expiring"][number], now: number): string {
  const what = `Output ${index} of ${visible(step)}`;
  const users = needed_by.length === 0 ? "" : ` (needed by ${needed_by.map(visible).join(", ")})`;
  const leftMs = Date.parse(expires_at) - now;
  const at = `${expires_at.slice(0, 16).replace("T", " ")} UTC`;
  if (leftMs <= 0)
    return `${what} was kept at the service only, until ${at}${users}: it may have to be produced again.`;
  const left = leftMs < HOUR_MS ? "less than an hour" : `${Math.floor(leftMs / HOUR_MS)} h`;
  return `${what} is at the service only, until ${at}, ${left} from now${users}: resume before then.`;
}

function count(n: number): string {
  return n === 1 ? "1 output is" : `${n} outputs are`;
}
