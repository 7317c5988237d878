import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

/** Maximum time in ms for a test's server to start on a busy machine. Timeouts of hooks must be longer. */
export const SERVER_UP_MS = 120_000;

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  /** True if the server responds; an exception means false. */
  readonly answers: () => boolean | Promise<boolean>;
  /** The server's log. */
  readonly log: () => string;
}

/** Waits until a server responds. @throws an error with its log once its process has ended, or after {@link SERVER_UP_MS} */
export async function serverUp({ name, child, answers, log }: Server): Promise<void> {
  const deadline = Date.now() + SERVER_UP_MS;
  for (;;) {
    let cause: unknown;
    try {
      if (await answers()) return;
    } catch (error) {
      cause = error;
    }
    const ended = child.signalCode ?? child.exitCode;
    const why = ended !== null ? `ended (${ended})` : Date.now() > deadline ? "does not answer" : null;
    if (why !== null) throw new Error(`${name} ${why}:\n${log()}`, { cause });
    await sleep(50);
  }
}

/** Starts a server on free ports, and tries again if another process took a port in the meantime. */
export async function withSecondTry<T>(start: () => Promise<T>): Promise<T> {
  return start().catch(start);
}
