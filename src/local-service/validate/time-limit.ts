import { createContext, Script } from "node:vm";

const place: { work: () => unknown } = { work: () => undefined };
const context = createContext(place);
const script = new Script("work()");

/** The work took longer than it may. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

/**
 * Does synchronous work within a time limit, even when it hangs in a regular expression: callers send schemas and patterns
 * of any cost. Tried twice, since a busy machine may have taken the time that the work was given. Work that is out of time
 * just ends, and not even its `finally` runs: it must not leave shared state half done. `prepare` comes before each try
 * and has all the time it needs. @throws TookTooLong
 */
export function withinTime<T>(ms: number, work: () => T, prepare: () => void = () => {}): T {
  const tried = () => {
    prepare();
    return tryWithin(ms, work);
  };
  return (tried() ?? tried() ?? tooLong(ms)).value;
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

function tooLong(ms: number): never {
  throw new TookTooLong(`took longer than ${ms} ms, twice`);
}
