import type { RunEvent } from "./events.ts";

/** Every event that this version knows; the compiler keeps it whole. */
const KNOWN = {
  "run.planned": true,
  "lease.taken": true,
  "run.started": true,
  "run.budget.set": true,
  "run.paused": true,
  "run.resumed": true,
  "run.finished": true,
  "run.reopened": true,
  "run.replanned": true,
  "rerun.requested": true,
  "step.started": true,
  "step.finished": true,
  "step.reset": true,
  "step.restored": true,
  "step.reused": true,
  "upload.stored": true,
  "job.quoted": true,
  "job.submit.intended": true,
  "job.submit.unknown": true,
  "job.submit.refused": true,
  "job.submit.withdrawn": true,
  "job.unresolved": true,
  "job.adopted": true,
  "job.submitted": true,
  "job.started": true,
  "job.completed": true,
  "job.failed": true,
  "job.settled": true,
  "output.downloaded": true,
  "output.expired": true,
  "chat.intended": true,
  "chat.answered": true,
  "chat.failed": true,
  "chat.abandoned": true,
  "task.done": true,
  "task.failed": true,
  "approval.decided": true,
  "pick.made": true,
  "expand.planned": true,
  "file.placed": true,
} as const satisfies Readonly<Record<RunEvent["type"], true>>;

export function isEventType(type: string): type is RunEvent["type"] {
  return Object.hasOwn(KNOWN, type);
}
