import type { DataDir } from "../data-dir.ts";
import type { ForcedEnd } from "../faults/engine.ts";
import type { ErrorBody } from "../http/refusal.ts";
import { voiceId as newVoiceId } from "../ids.ts";
import { canMove, failure, type JobOutcome, type OutputEnd, outcomeOf } from "../lifecycle/job.ts";
import type { ServiceParts } from "../service-parts.ts";
import type { JobRow, OutputRow, VoiceRow } from "../store/rows.ts";
import type { Rendered } from "./render-job.ts";

/** The error of a job that failed for a reason other than its input. */
export const WORK_FAILED: ErrorBody = {
  code: "INTERNAL",
  message: "The model could not finish this job; its cost was refunded.",
  retryable: true,
  retry_after: 1,
};

function errorOf(error: unknown, strict: boolean): ErrorBody {
  const isInput = error instanceof Error && "code" in error && error.code === "RENDER_INPUT";
  if (!isInput) return WORK_FAILED;
  const why = strict ? "." : `: ${error.message}`;
  return { code: "INVALID_ARGUMENT", message: `The input could not be used${why}`, retryable: false };
}

function endOf(rendered: Rendered, position: number, forced: ForcedEnd, strict: boolean): OutputEnd {
  const wanted = forced.outputs.get(position);
  if (wanted) return { ok: false, error: wanted };
  return rendered.ok ? { ok: true } : { ok: false, error: errorOf(rendered.error, strict) };
}

const EMPTY = { contentType: null, width: null, height: null, durationMs: null, fps: null, sizeBytes: null };

function outputRow(job: JobRow, position: number, rendered: Rendered, end: OutputEnd, dataDir: DataDir): OutputRow {
  const base = { jobSeq: job.seq, position, fpsShownAt: null, assetId: null, voiceId: null, path: null };
  if (!end.ok || !rendered.ok) {
    const error = end.ok ? WORK_FAILED : end.error;
    return { ...base, ...EMPTY, status: "FAILED", error: JSON.stringify(error) };
  }
  const { result, assetId } = rendered;
  const isVoice = result.voice !== null;
  const { contentType, width, height, durationMs, fps, sizeBytes } = result;
  const measured = isVoice ? EMPTY : { contentType, width, height, durationMs, fps, sizeBytes };
  const identity = isVoice ? { voiceId: newVoiceId() } : { assetId, path: dataDir.assetPath(assetId) };
  return { ...base, ...measured, ...identity, status: "COMPLETED", error: null };
}

/** Returns functions that must be called inside a transaction. */
export function jobFinisher(
  service: Pick<ServiceParts, "store" | "clock" | "dataDir" | "hooks" | "record" | "options">,
) {
  const { store, clock, dataDir, hooks, record, options } = service;

  function addVoice(job: JobRow, row: OutputRow, rendered: Rendered): void {
    if (row.voiceId === null || !rendered.ok || rendered.result.voice === null) return;
    const name = (JSON.parse(job.input) as { name?: string }).name ?? rendered.result.voice.label;
    const { workspaceId, ownerId, seq: jobSeq } = job;
    const profile = JSON.stringify(rendered.result.voice);
    const voice: VoiceRow = {
      voiceId: row.voiceId,
      workspaceId,
      ownerId,
      jobSeq,
      name,
      profile,
      createdAt: clock.now(),
    };
    store.voices.insert(voice);
  }

  function endJob(job: JobRow, end: JobOutcome, expiresAt: number | null): void {
    const now = clock.now();
    const error = end.error === null ? null : JSON.stringify(end.error);
    const { status, refundMicros: refundedMicros } = end;
    store.jobs.end(job.seq, { status, completedAt: now, expiresAt, refundedMicros, error });
    if (refundedMicros > 0) store.workspaces.refund(job.workspaceId, refundedMicros);
    if (status === "COMPLETED") store.modelRuns.add(job.model, now - job.createdAt);
    record(job, end.events);
    hooks.ended(store.jobs.bySeq(job.seq)!);
  }

  return {
    finish(seq: number, rendered: readonly Rendered[], forced: ForcedEnd): void {
      const job = store.jobs.bySeq(seq);
      if (!job || !canMove(job.status, "COMPLETED")) return;
      const ends = rendered.map((item, position) => endOf(item, position, forced, options.strict));
      const end = forced.job ? failure(job.chargedMicros, forced.job) : outcomeOf(job.chargedMicros, ends);
      if (end.status === "COMPLETED") {
        rendered.forEach((item, position) => {
          const row = outputRow(job, position, item, ends[position]!, dataDir);
          const fpsShownAt = forced.fpsLateMs > 0 ? clock.now() + forced.fpsLateMs : null;
          store.outputs.insert({ ...row, fpsShownAt });
          addVoice(job, row, item);
        });
      }
      const expiresAt = forced.expireNow ? clock.now() : job.createdAt + options.retentionMs;
      const hasMedia = end.status === "COMPLETED" && job.kind !== "voice" && job.kind !== "chat";
      endJob(job, end, hasMedia ? expiresAt : null);
    },

    fail(seq: number, error: ErrorBody): void {
      const job = store.jobs.bySeq(seq);
      if (job && canMove(job.status, "FAILED")) endJob(job, failure(job.chargedMicros, error), null);
    },
  };
}
