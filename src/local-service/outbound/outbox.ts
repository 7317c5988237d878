import type { ServiceParts } from "../service-parts.ts";
import { FairQueue, type QueueLimits } from "./fair-queue.ts";

const HOUR_S = 3600;

/** Milliseconds until the next try after so many failures in a row: 10, 30, 90, 270, 810, 2430 s, then hourly. */
export function delayAfter(failures: number): number {
  return Math.min(HOUR_S, 10 * 3 ** (failures - 1)) * 1000;
}

/** What is due to be sent, in lanes: `send` is given each item in its lane's turn. */
export class Outbox {
  readonly #ports: Pick<ServiceParts, "outbound" | "onDefect">;
  readonly #queue: FairQueue;
  readonly #send: (item: number) => Promise<void>;
  #closed = false;

  constructor(
    ports: Pick<ServiceParts, "outbound" | "onDefect">,
    limits: QueueLimits,
    send: (item: number) => Promise<void>,
  ) {
    this.#ports = ports;
    this.#queue = new FairQueue(limits);
    this.#send = send;
  }

  get closed(): boolean {
    return this.#closed;
  }

  push(lane: string, item: number): void {
    this.#queue.push(lane, item);
    this.#pump();
  }

  /** Begins nothing more. */
  close(): void {
    this.#closed = true;
  }

  #pump(): void {
    if (this.#closed) return;
    for (let next = this.#queue.take(); next; next = this.#queue.take()) {
      const { lane, item } = next;
      this.#ports.outbound
        .during(this.#send(item))
        .catch((error: unknown) => this.#ports.onDefect(error, ""))
        .finally(() => {
          this.#queue.done(lane);
          this.#pump();
        });
    }
  }
}
