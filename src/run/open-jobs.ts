import type { RunState } from "../journal/state.ts";

/** Work that goes on, and bills, at the service although nobody here watches it. */
export interface OpenJob {
  readonly step: string;
  /** Null while no acknowledgement came, or ever will. */
  readonly jobId: string | null;
  /** Reserved for it, micro-dollars: what it costs at most, as far as the service keeps to its quote. */
  readonly holdMicros: number;
}

const open: ReadonlySet<string> = new Set([
  "submitting.sent",
  "submitting.unknown",
  "inQueue",
  "inProgress",
  "unresolved",
]);

/** What was sent to the service and has not come to its end, as far as the journal knows. */
export function openJobs(state: RunState): readonly OpenJob[] {
  return Object.values(state.steps).flatMap(({ path: step, attempts, chats }) => [
    ...attempts.filter(({ phase }) => open.has(phase)).map(({ jobId, holdMicros }) => ({ step, jobId, holdMicros })),
    ...chats.filter(({ phase }) => phase === "sent").map(({ jobId, holdMicros }) => ({ step, jobId, holdMicros })),
  ]);
}
