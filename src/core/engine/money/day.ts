import { HOUR_MS } from "../../kit/duration.ts";
import { InvalidOptionError } from "../errors.ts";

/** Every time zone's midnight, and every change of its clocks, is on a quarter of an hour. */
const STEP_MS = 900_000;
/** No day is longer: clocks that are set back make 25 hours of one, and rarely a little more. */
const LONGEST_DAY_MS = 48 * HOUR_MS;

export interface Day {
  /** Epoch milliseconds of its first instant, and of that of the next day. */
  readonly startAt: number;
  readonly endAt: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const days = new Map<string, Day>();

/** Throws `InvalidOptionError` when it is no time zone. */
export function checkTimeZone(timeZone: string, option: string): string {
  try {
    // To look the preset up would take a tenth of the start of every command.
    if (timeZone !== "UTC") formatOf(timeZone);
    return timeZone;
  } catch {
    throw new InvalidOptionError(
      option,
      `${JSON.stringify(timeZone)} is no time zone; use a name such as UTC or Europe/Berlin.`,
    );
  }
}

/** The calendar day of an instant in a time zone; 23 or 25 hours long where clocks change. */
export function dayAt(at: number, timeZone: string): Day {
  const known = days.get(timeZone);
  if (known !== undefined && known.startAt <= at && at < known.endAt) return known;
  const date = dateOf(at, timeZone);
  const isOther = (step: number) => dateOf(step * STEP_MS, timeZone) !== date;
  const here = Math.floor(at / STEP_MS);
  const reach = LONGEST_DAY_MS / STEP_MS;
  const startAt = (firstStep(here - reach, here, (step) => !isOther(step)) ?? here) * STEP_MS;
  const endAt = firstStep(here, here + reach, isOther)! * STEP_MS;
  const day = { startAt, endAt };
  days.set(timeZone, day);
  return day;
}

/** The first step from which on it holds, among those after which it keeps holding; null without one. */
function firstStep(from: number, to: number, holds: (step: number) => boolean): number | null {
  if (!holds(to)) return null;
  let [no, yes] = [from, to];
  while (yes - no > 1) {
    const middle = Math.floor((no + yes) / 2);
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

/** An instant as people write it: `2026-11-23 00:00 Europe/Berlin`. */
export function instantText(at: number, timeZone: string): string {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute} ${timeZone}`;
}

function dateOf(at: number, timeZone: string): string {
  return instantText(at, timeZone).slice(0, 10);
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    const [date, time] = [
      { year: "numeric", month: "2-digit", day: "2-digit" } as const,
      { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const,
    ];
    format = new Intl.DateTimeFormat("en-CA", { timeZone, ...date, ...time });
    formats.set(timeZone, format);
  }
  return format;
}
