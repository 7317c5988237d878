import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

/** How long a server of a test may take to come up, ms, on a machine that does much else. A hook has to wait longer. */
export const SERVER_UP_MS = 120_000;

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  /** Whether it answers; a throw is a no. */
  readonly answers: () => boolean | Promise<boolean>;
  /** What it wrote down. */
  readonly log: () => string;
}

/** Waits until a server answers. @throws at once where its process has ended, and after {@link SERVER_UP_MS}; with its log */
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

/** Starts something on free ports; a port that somebody else took meanwhile is mostly free the next time. */
export async function withSecondTry<T>(start: () => Promise<T>): Promise<T> {
  return start().catch(start);
}
