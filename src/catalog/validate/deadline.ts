import { createContext, Script } from "node:vm";

const place: { work: () => unknown } = { work: () => undefined };
let watched: { readonly context: object; readonly script: Script } | null = null;

/** Does synchronous work for so long at most, also when it hangs in a regular expression. Null when time was up. */
export function within<T>(ms: number, work: () => T): { readonly value: T } | null {
  watched ??= { context: createContext(place), script: new Script("work()") };
  let done: { readonly value: T } | null = null;
  place.work = () => {
    done = { value: work() };
  };
  try {
    watched.script.runInContext(watched.context, { timeout: ms });
    return done;
  } catch (error) {
    if ((error as { readonly code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return null;
    throw error;
  } finally {
    place.work = () => undefined;
  }
}
