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
 * of any cost. The work must not leave anything half done. @throws TookTooLong
 */
export function withinTime<T>(ms: number, work: () => T): T {
  let result: { readonly value: T } | null = null;
  place.work = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: ms });
  } catch (error) {
    const isLimit = error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw isLimit ? new TookTooLong(`took longer than ${ms} ms`) : error;
  } finally {
    place.work = () => undefined;
  }
  if (result === null) throw new TookTooLong("ended without a result");
  return (result as { readonly value: T }).value;
}
