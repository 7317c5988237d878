import type { Clock } from "../../src/api/clock.ts";

/** The part of a local service's clock that a client's clock is made of. */
interface ServiceTime {
  now(): number;
  at(dueMs: number, call: () => void): () => void;
}

/** A client's clock that is the local service's own, whether it runs, is scaled or is held by hand. */
export function clockOf(service: ServiceTime): Clock {
  return {
    now: () => service.now(),
    setTimer: (delayMs, fire) => ({ cancel: service.at(service.now() + delayMs, fire) }),
  };
}
