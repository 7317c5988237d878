import { Cron } from "croner";
import { type Clock, sleep, systemClock } from "../../api/index.ts";
import type { Pipeline } from "../../define/index.ts";
import { InvalidOptionError } from "../errors.ts";
import { checkRunId, type RunOptions } from "../options/options.ts";
import type { Showrunner } from "../showrunner/showrunner.ts";

/** A pipeline that runs at set times. */
export interface Schedule {
  /** Begins the ids of its runs, and is their tag `schedule`. Unique among the schedules of a journal. */
  readonly name: string;
  /** A cron pattern of 5 fields, or 6 with seconds first: `0 6 * * 1-5`. */
  readonly cron: string;
  /** Whose clock it goes by: an IANA name. Default UTC. */
  readonly timeZone?: string | undefined;
  readonly pipeline: Pipeline;
  /** Of each run, or a function of the instant that it was due at. */
  readonly input: unknown;
  readonly options?: Omit<RunOptions, "id" | "onExisting" | "signal"> | undefined;
  /**
   * What becomes of times that passed while no process was there: `skip` them, run the `last` one, or `all` of them, the 100
   * last at most. Default `last`. A schedule that never ran has missed nothing.
   */
  readonly missed?: "skip" | "last" | "all" | undefined;
}

export interface Firing {
  readonly name: string;
  /** When it was due, epoch milliseconds. */
  readonly at: number;
  readonly runId: string;
  /** `elsewhere`: another process had started it. `missed`: left out, see {@link Schedule.missed}. `failed`: it could not be started. */
  readonly outcome: "started" | "elsewhere" | "missed" | "failed";
  readonly error?: unknown;
}

export interface ScheduleOptions {
  /** Ends it; runs that were started continue. */
  readonly signal: AbortSignal;
  /** Hands each run to the workers of the journal instead of driving it here. Default false. */
  readonly handOver?: boolean | undefined;
  readonly onFiring?: ((firing: Firing) => void) | undefined;
  readonly clock?: Clock | undefined;
}

/** Later than this a time counts as missed, milliseconds. */
const LATE_MS = 60_000;
/** A machine may sleep, or its clock be set: no wait is longer, milliseconds. */
const LONGEST_SLEEP_MS = 30_000;
const MOST_MISSED = 100;

/**
 * Starts runs at their times until it is aborted. The id of a run is made from its schedule and its time, so that any number
 * of processes may have the same schedules: each time is run once.
 */
export async function runSchedules(
  show: Showrunner,
  schedules: readonly Schedule[],
  options: ScheduleOptions,
): Promise<void> {
  const { signal, clock = systemClock } = options;
  const timers = schedules.map((schedule) => new ScheduleTimer(schedule));
  const names = new Set(schedules.map(({ name }) => name));
  if (names.size < schedules.length) throw new InvalidOptionError("schedules", "two have the same name; rename one.");
  for (const timer of timers) await timer.begin(show, clock.now());
  while (!signal.aborted) {
    for (const timer of timers) await timer.fire(show, clock.now(), options);
    const nextAt = Math.min(...timers.map((timer) => timer.nextAt()));
    const waitMs = Math.min(LONGEST_SLEEP_MS, Math.max(0, nextAt - clock.now()));
    await sleep(clock, waitMs, signal).catch(() => {});
  }
}

/** How a schedule stands. */
export interface ScheduleState {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  /** When it is due next, epoch milliseconds; null: never again. */
  readonly nextAt: number | null;
  /** Its newest run in the journal, and when that was due. */
  readonly last: { readonly runId: string; readonly at: number; readonly status: string } | null;
  /** Times since then that passed without a run, epoch milliseconds; the 100 last at most. See {@link Schedule.missed}. */
  readonly missed: readonly number[];
}

/** How schedules stand at an instant, by the runs of the journal. Starts nothing. */
export async function inspectSchedules(
  show: Pick<Showrunner, "runs">,
  schedules: readonly Schedule[],
  now: number,
): Promise<readonly ScheduleState[]> {
  const states: ScheduleState[] = [];
  for (const schedule of schedules) states.push(await new ScheduleTimer(schedule).state(show, now));
  return states;
}

/** The id of the run that a schedule starts at an instant. */
export function scheduledRunId(name: string, at: number): string {
  return `${name}-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, "")}`;
}

class ScheduleTimer {
  readonly #schedule: Schedule;
  readonly #cron: Cron;
  /** Times up to here are dealt with. */
  #since = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    const { name, cron, timeZone = "UTC", missed = "last" } = schedule;
    checkRunId(scheduledRunId(name, 0));
    if (!["skip", "last", "all"].includes(missed)) {
      throw new InvalidOptionError("missed", `${JSON.stringify(missed)} is none of skip, last and all.`);
    }
    try {
      this.#cron = new Cron(cron, { timezone: timeZone, paused: true });
      this.#cron.nextRun();
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      throw new InvalidOptionError("cron", `schedule ${name}: ${JSON.stringify(cron)} in ${timeZone}: ${said}`);
    }
  }

  /** Continues where the last run of the schedule was due, whoever started it. */
  async begin(show: Pick<Showrunner, "runs">, now: number): Promise<ScheduleState["last"]> {
    const { name } = this.#schedule;
    const started = (await show.runs({ tags: { schedule: name } })).flatMap(({ runId, status }) => {
      const at = timeOf(name, runId);
      return at === null ? [] : [{ runId, at, status }];
    });
    const last = started.toSorted((one, other) => one.at - other.at).at(-1) ?? null;
    this.#since = Math.min(now, last?.at ?? now);
    return last;
  }

  async state(show: Pick<Showrunner, "runs">, now: number): Promise<ScheduleState> {
    const { name, cron, timeZone = "UTC" } = this.#schedule;
    const last = await this.begin(show, now);
    const missed = this.#passed(now);
    const nextAt = this.nextAt();
    return { name, cron, timeZone, nextAt: Number.isFinite(nextAt) ? nextAt : null, last, missed };
  }

  nextAt(): number {
    return this.#cron.nextRun(new Date(this.#since))?.getTime() ?? Number.POSITIVE_INFINITY;
  }

  async fire(show: Showrunner, now: number, options: ScheduleOptions): Promise<void> {
    const { missed = "last" } = this.#schedule;
    const due = this.#passed(now);
    const last = due.at(-1);
    for (const at of due) {
      const isMissed = now - at > LATE_MS;
      if (isMissed && (missed === "skip" || (missed === "last" && at !== last))) this.#tell(at, "missed", options);
      else await this.#start(show, at, options);
    }
  }

  /** Its times up to now that were not dealt with, the newest of them; they count as dealt with from here on. */
  #passed(now: number): readonly number[] {
    const due: number[] = [];
    for (let at = this.nextAt(); at <= now; at = this.nextAt()) {
      due.push(at);
      if (due.length > MOST_MISSED) due.shift();
      this.#since = at;
    }
    return due;
  }

  async #start(show: Showrunner, at: number, options: ScheduleOptions): Promise<void> {
    const { name, pipeline, input } = this.#schedule;
    const own = { id: scheduledRunId(name, at), onExisting: "fail" } as const;
    const tags = { ...this.#schedule.options?.tags, schedule: name };
    const how = { ...this.#schedule.options, ...own, tags };
    try {
      const given = typeof input === "function" ? await input({ at: new Date(at) }) : input;
      if (options.handOver === true) await show.start(pipeline, given, how);
      // What becomes of it is in the journal; who watches it reads it there.
      else void (await show.run(pipeline, given, how)).result().catch(() => {});
      this.#tell(at, "started", options);
    } catch (error) {
      const isThere = (error as { readonly code?: unknown } | null)?.code === "RUN_EXISTS";
      this.#tell(at, isThere ? "elsewhere" : "failed", options, isThere ? undefined : error);
    }
  }

  #tell(at: number, outcome: Firing["outcome"], { onFiring }: ScheduleOptions, error?: unknown): void {
    const { name } = this.#schedule;
    onFiring?.({ name, at, runId: scheduledRunId(name, at), outcome, ...(error !== undefined && { error }) });
  }
}

function timeOf(name: string, runId: string): number | null {
  const found = runId.startsWith(`${name}-`)
    ? /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(runId.slice(name.length + 1))
    : null;
  if (found === null) return null;
  const [, year, month, day, hour, minute, second] = found;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
