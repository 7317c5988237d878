import type { Job, PgBoss } from "pg-boss";
import type { LocalWork } from "../../internal.ts";
import { type Engine, type EngineHandlers, keyOfWork, type ProcessOptions, type WakeOptions } from "../worker/index.ts";

export interface PgBossEngineOptions {
  /** `postgres://…` of the database that holds the queues. It may be that of the journal. */
  readonly connectionString: string;
  /** Schema of pg-boss's own tables. Default `pgboss`. */
  readonly schema?: string | undefined;
  /** Connections of this process to the database, beside those of the journal. Default 4. */
  readonly connections?: number | undefined;
  /**
   * A process that was not heard from for so many seconds is dead, and what it was at goes to another one. Default 10, which is
   * also the least that pg-boss takes.
   */
  readonly heartbeatSeconds?: number | undefined;
  /** Called for failures of handlers and of the queue itself; both are tried again. */
  readonly onError?: ((error: unknown, what: string) => void) | undefined;
}

/** What was tried so often for nothing is left to the journal, in which every run that is due can be found. */
const RETRIES = 1_000;
const [SLICES, LOCAL] = ["showrunner-slices", "showrunner-local"] as const;
/** New jobs are announced by NOTIFY; this is for timers, and for what that connection missed. Each place for a slice polls for itself. */
const POLL_SECONDS = 2;

/** An engine on PostgreSQL, with the queues of pg-boss: an optional peer dependency. */
export async function createPgBossEngine(options: PgBossEngineOptions): Promise<Engine> {
  const { connectionString, schema = "pgboss", connections = 4, heartbeatSeconds = 10, onError = () => {} } = options;
  const boss = new (await load())({
    connectionString,
    schema,
    max: connections,
    application_name: "showrunner",
    schedule: false,
    useListenNotify: true,
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
  });
  boss.on("error", (error) => onError(error, "pg-boss"));
  await boss.start();
  // One waiting and one active job of a run: wakes coalesce, and one that comes during a slice waits for its end.
  const common = {
    policy: "stately",
    heartbeatSeconds,
    notify: true,
    retryLimit: RETRIES,
    retryBackoff: true,
  } as const;
  const kept = { retryDelay: 1, retryDelayMax: 60, deleteAfterSeconds: 60, retentionSeconds: 365 * 86_400 };
  // A slice lasts seconds; a local function may last as long as it gives signs of life.
  for (const [name, expireInSeconds] of [
    [SLICES, 600],
    [LOCAL, 86_399],
  ] as const) {
    await boss.createQueue(name, { ...common, ...kept, expireInSeconds });
  }
  return new PgBossEngine(boss, onError);
}

class PgBossEngine implements Engine {
  readonly #boss: PgBoss;
  readonly #onError: (error: unknown, what: string) => void;
  readonly #end = new AbortController();

  constructor(boss: PgBoss, onError: (error: unknown, what: string) => void) {
    this.#boss = boss;
    this.#onError = onError;
  }

  async wake(runId: string, { at, priority = 0 }: WakeOptions = {}): Promise<void> {
    const delayMs = (at ?? 0) - Date.now();
    const isNow = delayMs <= 0;
    // A length of time, not an instant: the database's clock may be another.
    const how = { singletonKey: runId, priority, ...(!isNow && { startAfter: delayMs / 1000 }) };
    const added = await this.#boss.send(SLICES, { runId }, how);
    // It waits already: for later, perhaps. A timer that comes after another one is not worth a change.
    if (added === null && isNow) {
      await this.#boss.update(SLICES, undefined, {
        singletonKey: runId,
        startAfter: 0,
        priority,
        match: "all",
      });
    }
  }

  async delegate(work: LocalWork): Promise<void> {
    await this.#boss.send(LOCAL, work, { singletonKey: keyOfWork(work), priority: -(work.place ?? 0) });
  }

  async process(handlers: EngineHandlers, { slices, local }: ProcessOptions): Promise<void> {
    const polls = { pollingIntervalSeconds: POLL_SECONDS, notifyPollingIntervalSeconds: POLL_SECONDS };
    const how = { ...polls, heartbeatRefreshSeconds: 3 };
    await this.#boss.work<{ readonly runId: string }>(SLICES, { ...how, localConcurrency: slices }, async ([job]) => {
      const { runId } = job!.data;
      const next = await this.#watched(runId, () => handlers.slice(runId, this.#signal(job!)));
      if (next !== null) await this.wake(runId, { at: next });
    });
    await this.#boss.work<LocalWork>(LOCAL, { ...how, localConcurrency: local }, async ([job]) => {
      await this.#watched(keyOfWork(job!.data), () => handlers.local(job!.data, this.#signal(job!)));
    });
  }

  async close({ drainMs = 30_000 } = {}): Promise<void> {
    this.#end.abort(new Error("The worker stops."));
    await this.#boss.stop({ graceful: true, close: true, timeout: Math.min(drainMs, 2 ** 31 - 1) });
  }

  #signal({ signal }: Job<unknown>): AbortSignal {
    return AbortSignal.any([signal, this.#end.signal]);
  }

  async #watched<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#onError(error, what);
      throw error;
    }
  }
}

async function load(): Promise<typeof PgBoss> {
  try {
    return (await import("pg-boss")).PgBoss;
  } catch (cause) {
    throw new Error("The engine pg-boss needs its package: npm install pg-boss pg", { cause });
  }
}
