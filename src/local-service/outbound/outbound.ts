import { lookup } from "node:dns/promises";
import { type DestinationRules, findDestination, type Resolve } from "./destination.ts";
import type { Outcome } from "./outcome.ts";
import { type Message, post } from "./post.ts";

/** The only egress of the service: every POST to an address that a caller named goes through here. */
export interface Outbound {
  /**
   * Checks the destination, then posts. Null when the service closes first, so the outcome is unknown. Never rejects.
   */
  post(url: string, message: Message): Promise<Outcome | null>;
  /** Counts work as in flight until it settles; `idle` waits for it. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Resolves when no work is in flight; under continuous load, after a bounded number of rounds. */
  idle(): Promise<void>;
  /** Aborts every POST; later ones are not sent. */
  close(): Promise<void>;
}

export interface OutboundOptions extends DestinationRules {
  /** Timeout from the name lookup to the end of the response, in real milliseconds. */
  readonly timeoutMs: number;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
}

/** Rounds of follow-up work that `idle` waits for. */
const IDLE_ROUNDS = 100;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

export function createOutbound(options: OutboundOptions): Outbound {
  const { timeoutMs, resolve = systemResolve } = options;
  const stopping = new AbortController();
  const inFlight = new Set<Promise<unknown>>();

  async function send(url: string, message: Message): Promise<Outcome | null> {
    if (stopping.signal.aborted) return null;
    const until = performance.now() + timeoutMs;
    const found = await inTime(findDestination(url, resolve, options), timeoutMs, stopping.signal);
    if (stopping.signal.aborted) return null;
    if (found === null) return { is: "late" };
    if (found.is === "blocked") return found;
    if (found.is === "unresolved") return { is: "unreachable" };
    return post(found, message, Math.max(1, until - performance.now()), stopping.signal);
  }

  function during<T>(work: Promise<T>): Promise<T> {
    const end = () => void inFlight.delete(work);
    inFlight.add(work);
    work.then(end, end);
    return work;
  }

  return {
    during,
    post: (url, message) => during(send(url, message).catch((): Outcome => ({ is: "unreachable" }))),
    async idle() {
      for (let round = 0; round < IDLE_ROUNDS && inFlight.size > 0; round += 1) await Promise.allSettled([...inFlight]);
    },
    async close() {
      stopping.abort();
      while (inFlight.size > 0) await Promise.allSettled([...inFlight]);
    },
  };
}

/** Null on timeout or abort; a name lookup cannot be cancelled. */
function inTime<T>(work: Promise<T>, limitMs: number, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(null);
    };
    const timer = setTimeout(stop, limitMs);
    signal.addEventListener("abort", stop);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
