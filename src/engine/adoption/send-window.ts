import { type AttemptState, RESENT_EVERY_MS } from "../../journal/state.ts";

/** Requests take their time, and the service's clock is known to the second at best. */
const MARGIN_MS = 10 * 60_000;

/** When an attempt's submit may have reached the service, epoch milliseconds of the service's clock. */
export interface SendWindow {
  readonly from: number;
  readonly to: number;
}

/**
 * From the first send to the last. `offsetMs`: how far the service's clock is ahead of this machine's now; where the
 * journal notes another offset of that time, both count.
 */
export function sendWindow(attempt: AttemptState, offsetMs: number): SendWindow {
  const first = attempt.intendedAt ?? 0;
  const last = (attempt.lastSentAt ?? first) + RESENT_EVERY_MS;
  const offsets = [offsetMs, attempt.serviceClockOffsetMs];
  return { from: first + Math.min(...offsets) - MARGIN_MS, to: last + Math.max(...offsets) + MARGIN_MS };
}
