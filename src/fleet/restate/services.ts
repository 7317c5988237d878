import type * as Restate from "@restatedev/restate-sdk";
import type { LocalWork } from "../../core/engine/index.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/kit/duration.ts";
import { type EngineHandlers, keyOfWork } from "../worker/index.ts";

export interface Work {
  readonly handlers: EngineHandlers;
  readonly places: { readonly slices: Places; readonly local: Places };
  readonly end: AbortSignal;
  readonly onError: (error: unknown, what: string) => void;
}

export interface Wake {
  /** When the run is due, in epoch milliseconds. 0 means immediately. */
  readonly at: number;
  readonly priority: number;
  /** When the wake was sent, in epoch milliseconds. Default: `at`. */
  readonly since?: number;
  readonly failures?: number;
}

interface Pending {
  readonly turn: string;
  readonly at: number;
  readonly failures: number;
}

interface Turn {
  readonly turn: string;
  readonly priority: number;
  /**
   * When the slice became due, in epoch milliseconds. A retried call keeps this time, and so its place in the queue.
   */
  readonly since?: number;
}

const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1_000, 60_000];

/** Retry policy: Restate retries a call indefinitely. If it gave up, later wake-ups of the run would wait forever. */
const AGAIN = {
  initialInterval: 250,
  exponentiationFactor: 2,
  maxInterval: 2_000,
  maxAttempts: 1_000_000_000,
  onMaxAttempts: "kill",
} as const;
/** Options for all services. With retention 0, Restate keeps no data of completed calls, not even idempotency keys. */
const COMMON = { journalRetention: 0, idempotencyRetention: 0, retryPolicy: AGAIN } as const;

export function namesOf(name: string) {
  return { wakes: `${name}-wakes`, runs: `${name}-runs`, local: `${name}-local` } as const;
}

/** Thrown to make Restate retry a call. The message contains no details of the failure, because Restate stores it. */
class TriedAgain extends Error {}

/**
 * Defines the Restate services. `runs` executes one slice of a run at a time, `wakes` stores when the next slice is
 * due, and `local` runs local functions. If a new version changes the order of operations in a handler, rename the
 * services.
 */
export function servicesOf(sdk: typeof Restate, name: string, work: Work) {
  const names = namesOf(name);
  const wakes = sdk.object({
    name: names.wakes,
    options: COMMON,
    handlers: {
      async wake(context: Restate.ObjectContext, { at, priority, since = at, failures = 0 }: Wake): Promise<void> {
        const pending = await context.get<Pending>("pending");
        if (pending !== null && pending.at <= at) return;
        const turn = context.rand.uuidv4();
        context.set<Pending>("pending", { turn, at, failures: Math.max(failures, pending?.failures ?? 0) });
        const delay = Math.max(0, at - Date.now());
        const next: Turn = { turn, priority, since: Math.max(at, since) };
        context.objectSendClient(runsRef, context.key).slice(next, sdk.rpc.sendOpts({ delay }));
      },
      /**
       * Starts the pending slice that `turn` identifies. Returns how many slices of the run have failed in a row, or
       * null if `turn` is obsolete.
       */
      begin: sdk.handlers.object.exclusive(
        { ingressPrivate: true },
        async (context: Restate.ObjectContext, turn: string): Promise<number | null> => {
          const pending = await context.get<Pending>("pending");
          if (pending?.turn !== turn) return null;
          context.clear("pending");
          return pending.failures;
        },
      ),
    },
  });
  const runs = sdk.object({
    name: names.runs,
    options: { ...COMMON, inactivityTimeout: HOUR_MS, abortTimeout: MINUTE_MS, ingressPrivate: true },
    handlers: {
      async slice(context: Restate.ObjectContext, { turn, priority, since = 0 }: Turn): Promise<void> {
        const client = context.objectClient(wakes, context.key);
        await placed(work, "slices", { context, priority, since }, async ({ signal, during }) => {
          const failures = await client.begin(turn);
          if (failures === null) return;
          // Records the result, so that Restate does not repeat a completed slice whose response was lost.
          const next = await context.run("slice", () => during(() => sliceOf(work, context.key, failures, signal)));
          if (next !== null) context.objectSendClient(wakes, context.key).wake(next);
        });
      },
    },
  });
  const runsRef: typeof runs = { name: names.runs } as typeof runs;
  const local = sdk.service({
    name: names.local,
    options: {
      ...COMMON,
      inactivityTimeout: 24 * HOUR_MS,
      abortTimeout: MINUTE_MS,
      // After this many failures, Restate drops the call, but the run stays in the journal.
      retryPolicy: { ...AGAIN, maxInterval: LONGEST_RETRY_MS, maxAttempts: 1_000 },
    },
    handlers: {
      async perform(context: Restate.Context, given: LocalWork): Promise<void> {
        const claim = { context, priority: -(given.place ?? 0), since: 0 };
        await placed(work, "local", claim, async ({ signal, during }) => {
          try {
            await during(() => work.handlers.local(given, signal));
          } catch (error) {
            if (!signal.aborted) work.onError(error, keyOfWork(given));
            throw new TriedAgain("A local step failed or this worker is stopping; see the worker's log.");
          }
        });
      },
    },
  });
  return [wakes, runs, local];
}

/** Executes a slice. Never rejects, because a rejection would block the run's object in Restate. */
async function sliceOf({ handlers, onError }: Work, runId: string, failures: number, signal: AbortSignal) {
  try {
    const at = await handlers.slice(runId, signal);
    return at === null ? null : ({ at, priority: 0 } satisfies Wake);
  } catch (error) {
    onError(error, runId);
    const delay = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    return { at: Date.now() + delay, priority: 0, failures: failures + 1 } satisfies Wake;
  }
}

async function placed(
  { places, end }: Work,
  kind: keyof Work["places"],
  { context, ...claim }: Claim & { readonly context: Restate.Context },
  perform: (attempt: Attempt) => Promise<void>,
): Promise<void> {
  const over = context.request().attemptCompletedSignal;
  const signal = AbortSignal.any([end, over]);
  const leave = await places[kind].take(claim, signal).catch((error: Error) => {
    throw new TriedAgain(error.message);
  });
  let inFlight: Promise<unknown> = Promise.resolve();
  // The end of the attempt frees the slot, because `perform` never returns if the connection breaks.
  over.addEventListener("abort", () => void inFlight.then(leave, leave));
  await perform({
    signal,
    during(work) {
      const working = work();
      inFlight = working;
      return working;
    },
  });
}

interface Attempt {
  readonly signal: AbortSignal;
  /** Runs `work` in the slot. The slot stays taken until the work ends, even if the attempt ends earlier. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

interface Claim {
  readonly priority: number;
  /** When the work became due, in epoch milliseconds. */
  readonly since: number;
}

/**
 * Slots for concurrent work. Work with a higher priority goes first. At equal priority, work that has been due longer
 * goes first.
 */
export class Places {
  readonly #waiting: (Claim & { readonly enter: () => void; readonly refuse: () => void })[] = [];
  #free: number;
  #isClosed = false;

  constructor(free: number) {
    this.#free = free;
  }

  /** Takes a slot once one is free, and resolves with a function to release it. Rejects after `close` or on abort. */
  take({ priority, since }: Claim, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener("abort", refuse);
        const at = this.#waiting.indexOf(waiter);
        if (at !== -1) this.#waiting.splice(at, 1);
      };
      const refuse = () => {
        leave();
        reject(new Error("This worker accepts no more work."));
      };
      const enter = () => {
        leave();
        this.#free--;
        resolve(() => {
          this.#free++;
          this.#look();
        });
      };
      const waiter = { priority, since, enter, refuse };
      if (this.#isClosed || signal.aborted) return refuse();
      signal.addEventListener("abort", refuse);
      const at = this.#waiting.findIndex(
        (other) => other.priority < priority || (other.priority === priority && other.since > since),
      );
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiter);
      this.#look();
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const { refuse } of [...this.#waiting]) refuse();
  }

  #look(): void {
    while (this.#free > 0 && this.#waiting.length > 0) this.#waiting[0]!.enter();
  }
}
