import type { Job, PgBoss } from "pg-boss";
import type { LocalWork } from "../../core/engine/index.ts";
import { type Engine, type EngineHandlers, keyOfWork, type ProcessOptions, type WakeOptions } from "../worker/index.ts";

/** Options for `createPgBossEngine`. */
export interface PgBossEngineOptions {
  /** URL (`postgres://…`) of the database for the queues. It may be the journal's database. */
  readonly connectionString: string;
  /** Schema for pg-boss's tables. Default `pgboss`. */
  readonly schema?: string | undefined;
  /** Number of database connections that this process uses for the queues. Default 4. */
  readonly connections?: number | undefined;
  /**
   * Seconds without a heartbeat after which a process is considered dead and another process takes over its work.
   * Default 10, pg-boss's minimum.
   */
  readonly heartbeatSeconds?: number | undefined;
  /** Called when a handler or the queue fails. Failed work is retried. */
  readonly onError?: ((error: unknown, what: string) => void) | undefined;
}

/** After this many failed attempts, the queue drops a run. Workers still find the run in the journal. */
const RETRIES = 1_000;
const [SLICES, LOCAL] = ["showrunner-slices", "showrunner-local"] as const;
/** Interval at which the queue is polled for due timers and missed notifications. */
const POLL_SECONDS = 2;

/** Creates an engine that uses the PostgreSQL queues of pg-boss, an optional peer dependency. */
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
  // `stately` allows one waiting and one active job per run. Wakes are merged, and a wake during a slice waits until
  // the slice ends.
  const common = { policy: "stately", heartbeatSeconds, notify: true } as const;
  const retries = { retryLimit: RETRIES, retryBackoff: true, retryDelay: 1, retryDelayMax: 60 };
  const queue = { ...common, ...retries, deleteAfterSeconds: 60, retentionSeconds: 365 * 86_400 };
  // A slice takes seconds. A local function may take any time, as long as its process gives signs of life.
  await boss.createQueue(SLICES, { ...queue, expireInSeconds: 600 });
  await boss.createQueue(LOCAL, { ...queue, expireInSeconds: 86_399 });
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
    // Passes a delay instead of a time, because the database's clock may differ from this process's clock.
    const how = { singletonKey: runId, priority, ...(!isNow && { startAfter: delayMs / 1000 }) };
    const added = await this.#boss.send(SLICES, { runId }, how);
    // A wake is already waiting, perhaps for later. Only an immediate wake moves it forward.
    if (added !== null || !isNow) return;
    await this.#boss.update(SLICES, undefined, { singletonKey: runId, startAfter: 0, priority, match: "all" });
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
    throw new Error("The pg-boss engine needs two more packages: npm install pg-boss pg", { cause });
  }
}
