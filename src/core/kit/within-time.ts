import { createContext, Script } from "node:vm";

const sandbox: { work: () => unknown } = { work: () => undefined };
let watched: { readonly context: object; readonly script: Script } | null = null;

export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

const FULL_TRIES = 2;
const MOST_TRIES = 8;

/**
 * Runs synchronous work under a time limit that can stop even a hanging regular expression. Tries again if the work
 * took too long only because the processor was busy.
 * @throws TookTooLong
 */
export function withinTime<T>(ms: number, work: () => T): T {
  let usedMs = 0;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const before = process.cpuUsage();
    const done = tryWithin(ms, work);
    if (done) return done.value;
    const { user, system } = process.cpuUsage(before);
    usedMs += (user + system) / 1000;
    // The measured time of an uninterrupted attempt is slightly below its limit.
    if (usedMs > (FULL_TRIES - 0.5) * ms) break;
  }
  throw new TookTooLong(`takes more than ${ms} ms`);
}

function tryWithin<T>(ms: number, work: () => T): { readonly value: T } | null {
  let result: { readonly value: T } | null = null;
  sandbox.work = () => {
    result = { value: work() };
  };
  try {
    watched ??= { context: createContext(sandbox), script: new Script("work()") };
    watched.script.runInContext(watched.context, { timeout: ms });
  } catch (error) {
    // Check only the code, because the error may belong to another realm, where `instanceof` fails.
    if ((error as { readonly code?: unknown } | null)?.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    return null;
  } finally {
    sandbox.work = () => undefined;
  }
  return result;
}
