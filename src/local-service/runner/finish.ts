import { createHmac } from "node:crypto";
import type { CompiledModel } from "../catalog/catalog.ts";
import type { Work } from "../catalog/model.ts";
import type { DataDir } from "../data-dir.ts";
import type { ForcedEnd } from "../faults/engine.ts";
import type { ErrorBody } from "../http/refusal.ts";
import { failure, isTerminal, type JobOutcome, outcomeOf } from "../lifecycle/job.ts";
import type { FoundMedia } from "../media/resolve.ts";
import {
  inputError,
  type MediaFile,
  type Renderer,
  type RenderKind,
  type RenderResult,
  type VoiceProfile,
} from "../render/contract.ts";
import type { ServiceParts } from "../service-parts.ts";
import { type JobRow, voiceId as newVoiceId, type OutputRow } from "../store/rows.ts";

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

const EMPTY = { contentType: null, width: null, height: null, durationMs: null, fps: null, sizeBytes: null };

function outputRow(
  job: JobRow,
  position: number,
  rendered: Rendered,
  error: ErrorBody | null,
  dataDir: DataDir,
): OutputRow {
  const base = { jobSeq: job.seq, position, fpsShownAt: null, assetId: null, voiceId: null, path: null };
  if (!rendered.ok || error !== null) return { ...base, ...EMPTY, status: "FAILED", error: JSON.stringify(error) };
  const { result, assetId } = rendered;
  const isVoice = result.voice !== null;
  const { contentType, width, height, durationMs, fps, sizeBytes } = result;
  const measured = isVoice ? EMPTY : { contentType, width, height, durationMs, fps, sizeBytes };
  const identity = isVoice ? { voiceId: newVoiceId() } : { assetId, path: dataDir.assetPath(assetId) };
  return { ...base, ...measured, ...identity, status: "COMPLETED", error: null };
}

/** Returns functions that end jobs. Call them inside a transaction. */
export function jobFinisher(
  service: Pick<ServiceParts, "store" | "clock" | "dataDir" | "hooks" | "record" | "options">,
) {
  const { store, clock, dataDir, hooks, record, options } = service;

  function addVoice(job: JobRow, row: OutputRow, rendered: Rendered): void {
    if (row.voiceId === null || !rendered.ok || rendered.result.voice === null) return;
    const name = (JSON.parse(job.input) as { name?: string }).name ?? rendered.result.voice.label;
    const { workspaceId, ownerId, seq: jobSeq } = job;
    const { voiceId } = row;
    const profile = JSON.stringify(rendered.result.voice);
    store.voices.insert({ voiceId, workspaceId, ownerId, jobSeq, name, profile, createdAt: clock.now() });
  }

  function endJob(job: JobRow, end: JobOutcome, expiresAt: number | null): void {
    const now = clock.now();
    const error = end.error === null ? null : JSON.stringify(end.error);
    const { status, refundMicros: refundedMicros } = end;
    store.jobs.end(job.seq, { status, completedAt: now, expiresAt, refundedMicros, error });
    if (refundedMicros > 0) store.workspaces.refund(job.workspaceId, refundedMicros);
    if (status === "COMPLETED") store.modelRuns.add(job.model, now - job.createdAt);
    record(job, end.events);
    hooks.emit("ended", store.jobs.bySeq(job.seq)!);
  }

  return {
    finish(seq: number, rendered: readonly Rendered[], forced: ForcedEnd): void {
      const job = store.jobs.bySeq(seq);
      if (job?.status !== "IN_PROGRESS") return;
      const errors = rendered.map((item, position) => {
        return forced.outputs.get(position) ?? (item.ok ? null : errorOf(item.error, options.strict));
      });
      const end = forced.job ? failure(job.chargedMicros, forced.job) : outcomeOf(job.chargedMicros, errors);
      if (end.status === "COMPLETED") {
        rendered.forEach((item, position) => {
          const row = outputRow(job, position, item, errors[position] ?? null, dataDir);
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
      if (job && !isTerminal(job.status)) endJob(job, failure(job.chargedMicros, error), null);
    },
  };
}

type Rendered =
  | { readonly ok: true; readonly assetId: string; readonly result: RenderResult }
  | { readonly ok: false; readonly error: unknown };

interface RenderPorts {
  readonly renderer: Renderer;
  readonly dataDir: DataDir;
  readonly secret: string;
  onError(error: unknown): void;
  voice(voiceId: string, job: JobRow): VoiceProfile | null;
}

/** Returns an id that cannot be guessed, but stays the same if the output is rendered again. */
function assetIdOf(secret: string, jobId: string, position: number): string {
  const hex = createHmac("sha256", secret).update(`${jobId}/${position}`).digest("hex");
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `asset_${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

interface Plan {
  readonly kind: RenderKind;
  readonly input: Work["input"];
  readonly media: Readonly<Record<string, readonly MediaFile[]>>;
  readonly outputs: number;
  readonly broken: { readonly field: string; readonly fault: string } | null;
}

function brokenOf(media: Readonly<Record<string, readonly FoundMedia[]>>): Plan["broken"] {
  for (const [field, files] of Object.entries(media)) {
    const fault = files.find((file) => file.fault)?.fault;
    if (fault) return { field, fault };
  }
  return null;
}

function planOf(job: JobRow, model: CompiledModel | undefined, dataDir: DataDir): Plan {
  const input = JSON.parse(job.input) as Work["input"];
  const media = JSON.parse(job.media) as Record<string, readonly FoundMedia[]>;
  const adapted = model?.adapt?.({ input, media }) ?? { input, rename: {} };
  const files = Object.entries(media).map(([field, found]) => [
    adapted.rename[field] ?? field,
    found.map((file): MediaFile => {
      return { ...file, path: dataDir.absolute(file.path), isCaptioned: file.sourceSeq !== null };
    }),
  ]);
  const outputs = input["num_outputs"];
  return {
    kind: job.kind === "chat" ? "image" : job.kind,
    input: adapted.input,
    media: Object.fromEntries(files),
    outputs: job.kind !== "voice" && typeof outputs === "number" ? outputs : 1,
    broken: brokenOf(media),
  };
}

/** Renders a job's outputs. Never rejects. If an output fails, its result is an error. */
export function renderJob(ports: RenderPorts, job: JobRow, model: CompiledModel | undefined, signal: AbortSignal) {
  const { kind, input, media, outputs, broken } = planOf(job, model, ports.dataDir);
  const voiceId = input["voice_id"];
  const voice = typeof voiceId === "string" ? ports.voice(voiceId, job) : null;

  async function renderOne(index: number): Promise<Rendered> {
    const assetId = assetIdOf(ports.secret, job.jobId, index);
    const { dataDir, renderer } = ports;
    const outPath = dataDir.incoming(assetId);
    try {
      if (broken !== null) throw inputError(broken.field, broken.fault);
      const request = { kind, index, seed: job.seed, input, media, voice, outPath };
      const result = await renderer.render(request, { signal });
      if (kind !== "voice") await dataDir.moveTo(dataDir.assetPath(assetId), outPath);
      return { ok: true, assetId, result };
    } catch (error) {
      ports.onError(error);
      return { ok: false, error };
    }
  }

  return Promise.all(Array.from({ length: outputs }, (_, index) => renderOne(index)));
}
