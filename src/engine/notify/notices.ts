import { redactUrls } from "../../api/redact.ts";
import type { RunNotification } from "../../api/webhooks/verify-notification.ts";
import type { RunEvent, StoredEvent } from "../../journal/events.ts";
import { planStep, type RunState } from "../../journal/state.ts";
import type { NewNotice } from "../../journal/store.ts";
import { formatUsd } from "../../money.ts";

/** Longer messages are cut: a receiver may be a phone. */
const MOST_CHARACTERS = 2_000;

interface News {
  readonly event: string;
  readonly status: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly step: string | null;
  readonly next: string;
}

/** What of these events a person is to be told. `state` holds them already. */
export function noticesOf(state: RunState, events: readonly StoredEvent[]): readonly NewNotice[] {
  return events.flatMap(({ seq, at, event }): readonly NewNotice[] => {
    const news = newsOf(state, event);
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

function newsOf(state: RunState, event: RunEvent): News | null {
  const { runId } = state;
  switch (event.type) {
    case "step.started": {
      const plan = planStep(state, event.step);
      if (plan.kind !== "approve") return null;
      const message = `${event.step} waits for ${plan.choose ? "a choice" : "an approval"}${plan.message === null ? "" : `: ${plan.message}`}`;
      const next = `showrunner approve ${runId}   (lists what waits, and what it shows)`;
      return { event: "run.waiting", status: "running", reason: "approval", message, step: event.step, next };
    }
    case "run.paused":
      return pauseNews(runId, event);
    case "run.finished": {
      const { status, message } = event;
      const told = status === "failed" ? "run.failed" : "run.finished";
      return { event: told, status, reason: null, message, step: null, next: `showrunner report ${runId}` };
    }
    default:
      return null;
  }
}

/** A reason that is not known here is told as waiting for a person, which every pause does. */
function pauseNews(runId: string, pause: { readonly reason: string; readonly message: string }): News | null {
  const { reason, message } = pause;
  const news = { status: "paused", reason, message, step: null };
  switch (reason) {
    // Each step that waits was told when it began to, and whoever stops a run knows.
    case "approval":
    case "stopped":
      return null;
    case "funds":
    case "budget":
      return { event: "run.needs-funds", ...news, next: `showrunner resume ${runId}` };
    case "unreachable":
    case "misdirected":
    case "credentials":
      return { event: "run.unreachable", ...news, next: `showrunner resume ${runId}` };
    default:
      return { event: "run.waiting", ...news, next: `showrunner show ${runId}` };
  }
}
