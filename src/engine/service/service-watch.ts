import { type CleanText, sentence } from "../../clean-text.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";

/** The service could not be asked: how that shows, and why the run pauses should it last. */
export interface ServiceFailure {
  readonly pause: "unreachable" | "misdirected";
  readonly message: CleanText;
}

/** How long a run bears with a service that is away before it pauses, milliseconds. */
export const GIVE_UP_AFTER_MS = 5 * 60_000;
/** How long a read that the service refuses is sent again, milliseconds: what it lists may lag behind what it did. */
const DOUBT_MS = 120_000;
const [FIRST_DELAY_MS, LONGEST_DELAY_MS] = [5_000, 60_000];

/** Milliseconds before the next try after so many failures in a row. */
export function delayAfter(failures: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
}

interface Failing {
  readonly since: number;
  failures: number;
}

/** Whether the service is there, as the commands of one drive find it. */
export class ServiceWatch {
  readonly #now: () => number;
  readonly #giveUpAfterMs: number;
  readonly #failing = new Map<string, Failing>();
  readonly #refused = new Map<string, Failing>();
  #awaySince: number | null = null;
  #heardAt = Number.NEGATIVE_INFINITY;
  #isTold: boolean;

  constructor(state: RunState, options: { readonly now: () => number; readonly giveUpAfterMs: number }) {
    this.#now = options.now;
    this.#giveUpAfterMs = options.giveUpAfterMs;
    this.#isTold = state.outage !== null;
  }

  /** The command met an outage: when to try again, and what to report. */
  failed(
    id: string,
    serviceFailure: ServiceFailure,
  ): { readonly delayMs: number; readonly events: readonly RunEvent[] } {
    const now = this.#now();
    const delayMs = delayAfter(count(this.#failing, id, now).failures);
    this.#awaySince ??= now;
    const events: RunEvent[] = [];
    const { pause: reason, message } = serviceFailure;
    if (!this.#isTold) events.push({ type: "service.unavailable", reason, message });
    this.#isTold = true;
    if (now - Math.max(this.#awaySince, this.#heardAt) >= this.#giveUpAfterMs) events.push(this.#pause(serviceFailure));
    return { delayMs, events };
  }

  /** The service answered the command. */
  answered(id: string): readonly RunEvent[] {
    this.heard();
    this.#failing.delete(id);
    if (this.#failing.size > 0) return [];
    this.#awaySince = null;
    if (!this.#isTold) return [];
    this.#isTold = false;
    return [{ type: "service.recovered" }];
  }

  /** Something of the service came in, whatever it was for. */
  heard(): void {
    this.#heardAt = this.#now();
  }

  /** The service itself refused a read: when to send it again; Infinity once that took long enough. */
  refused(id: string): number {
    const now = this.#now();
    const { since, failures } = count(this.#refused, id, now);
    return now - since < DOUBT_MS ? delayAfter(failures) : Number.POSITIVE_INFINITY;
  }

  #pause({ pause: reason, message }: ServiceFailure): RunEvent {
    return { type: "run.paused", reason, message: sentence`${message}. Nothing is lost or paid twice.` };
  }
}

function count(all: Map<string, Failing>, id: string, now: number): Failing {
  const failing = all.get(id) ?? { since: now, failures: 0 };
  all.set(id, failing);
  failing.failures++;
  return failing;
}

/** What reading the balance is named among what is watched. */
export const WALLET = "balance";
/** One name for all requests of a chat step, which count on. */
export function watchId(id: string): string {
  return id.startsWith("chat:") ? id.replace(/#\d+$/, "") : id;
}
