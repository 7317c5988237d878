import { createContext, Script } from "node:vm";

const place: { work: () => unknown } = { work: () => undefined };
const context = createContext(place);
const script = new Script("work()");

/** The work took longer than it may. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

/** Processor time that work may have, in tries of its time limit. */
const FULL_TRIES = 2;
/** Tries at most, however little of the processor each one got. */
const MOST_TRIES = 8;

/**
 * Does synchronous work within a time limit, even when it hangs in a regular expression: callers send schemas and patterns
 * of any cost. The limit of a try is in real time, which a busy machine may give to others; so it is tried again until
 * two limits of processor time were used. Work that is out of time just ends, and not even its `finally` runs: it must not
 * leave shared state half done. `prepare` comes before each try and has all the time it needs. @throws TookTooLong
 */
export function withinTime<T>(ms: number, work: () => T, prepare: () => void = () => {}): T {
  let usedMs = 0;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    prepare();
    const before = process.cpuUsage();
    const done = tryWithin(ms, work);
    if (done) return done.value;
    const { user, system } = process.cpuUsage(before);
    usedMs += (user + system) / 1000;
    // A try that had the processor to itself is measured a little short of its limit.
    if (usedMs > (FULL_TRIES - 0.5) * ms) break;
  }
  throw new TookTooLong(`took longer than ${ms} ms, ${FULL_TRIES} times`);
}

/** Null when time was up. */
function tryWithin<T>(ms: number, work: () => T): { readonly value: T } | null {
  let result: { readonly value: T } | null = null;
  place.work = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: ms });
  } catch (error) {
    // By its code alone: it may come from another realm, whose errors are no instances of ours.
    if ((error as { readonly code?: unknown } | null)?.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    return null;
  } finally {
    place.work = () => undefined;
  }
  return result;
}
