import { redactUrls } from "../../api/redact.ts";
import type { RunNotification } from "../../api/webhooks/verify-notification.ts";
import { type StoredEvent, specOf } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import type { NewNotice } from "../../journal/store.ts";
import { formatUsd } from "../../money.ts";

/** Longer messages are cut: a receiver may be a phone. */
const MOST_CHARACTERS = 2_000;

/** What of these events a person is to be told. `state` holds them already. */
export function noticesOf(state: RunState, events: readonly StoredEvent[]): readonly NewNotice[] {
  return events.flatMap(({ seq, at, event }): readonly NewNotice[] => {
    const news = specOf(event).notice?.(event, state) ?? null;
    if (news === null) return [];
    const body: RunNotification = {
      id: noticeId(state.runId, seq),
      run: state.runId,
      pipeline: state.planned.plan.pipeline,
      at: new Date(at).toISOString(),
      ...news,
      message: news.message === null ? null : redactUrls(news.message).slice(0, MOST_CHARACTERS),
      cost_usd: formatUsd(state.spentMicros),
    };
    return [{ seq, event: news.event, body: JSON.stringify(body) }];
  });
}

/** The same for an event however often, and by whom, it is told. */
export function noticeId(runId: string, seq: number): string {
  return `${runId}:${seq}`;
}
