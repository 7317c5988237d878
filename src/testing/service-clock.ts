import type { ClockControl } from "showrunner-local";
import { type Clock, systemClock } from "../api/index.ts";

/** A client's clock that is the local service's own, whether it runs, is scaled or is held by hand. */
export function clockOf(service: Pick<ClockControl, "now" | "at">): Clock {
  return {
    now: () => service.now(),
    setTimer: (delayMs, fire) => ({ cancel: service.at(service.now() + delayMs, fire) }),
  };
}

/**
 * A clock on which only waiting takes time: a wait ends after `1 / speed` of it, and moves the service's clock to its end.
 * Background timers guard sockets and take the time that they say.
 */
export function shortWaits(service: ClockControl, speed: number): Clock {
  service.manual();
  return {
    now: () => service.now(),
    setTimer(delayMs, fire, options) {
      if (options?.background) return systemClock.setTimer(delayMs, fire, options);
      const due = service.now() + delayMs;
      const timer = setTimeout(async () => {
        await service.advance(Math.max(0, Math.ceil(due - service.now())));
        fire();
      }, Math.max(0, delayMs) / speed);
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
