import type { JobRow } from "../store/rows.ts";
import { isTerminal } from "./job.ts";

/** Shown until the work is really done. */
const MOST_WHILE_RUNNING = 0.99;

/** 0 to 1; null after a failure. */
export function progressOf(job: JobRow, now: number): number | null {
  if (job.status === "COMPLETED") return 1;
  if (job.status === "FAILED") return null;
  if (job.startedAt === null) return 0;
  const fraction = job.renderMs === 0 ? MOST_WHILE_RUNNING : (now - job.startedAt) / job.renderMs;
  return Math.round(Math.min(MOST_WHILE_RUNNING, Math.max(0, fraction)) * 100) / 100;
}

/** When the job should be done, in epoch milliseconds: known once it runs, guessed from earlier runs before. */
export function estimatedCompletion(job: JobRow, averageMs: number | null, now: number): number | null {
  if (isTerminal(job.status)) return null;
  if (job.startedAt !== null) return Math.max(now, job.startedAt + job.renderMs);
  return averageMs === null ? null : Math.max(now, job.createdAt + Math.round(averageMs));
}
