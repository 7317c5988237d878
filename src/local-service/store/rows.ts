/** Rows of the tables in `schema.ts`, which states the units. */

export type JobStatus = "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED";
export type OutputStatus = "COMPLETED" | "FAILED" | "EXPIRED";
export type JobKind = "image" | "video" | "avatar" | "speech" | "voice" | "chat";

export interface JobRow {
  readonly seq: number;
  readonly jobId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly keyId: string;
  readonly model: string;
  readonly kind: JobKind;
  readonly quality: string | null;
  readonly status: JobStatus;
  readonly prompt: string | null;
  /** JSON: validated, defaults filled. */
  readonly input: string;
  /** JSON: the files of each media field, as of the submit. */
  readonly media: string;
  readonly webhook: string | null;
  readonly idempotencyKey: string | null;
  readonly seed: number;
  /** Simulated wait before the job may start. */
  readonly queueMs: number;
  /** Simulated length of the work. */
  readonly renderMs: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly expiresAt: number | null;
  readonly deletedAt: number | null;
  readonly chargedMicros: number;
  readonly refundedMicros: number;
  /** The cost is hidden before this instant. */
  readonly costShownAt: number;
  readonly error: string | null;
  readonly lastEventId: number;
}

export type NewJobRow = Omit<
  JobRow,
  "seq" | "startedAt" | "completedAt" | "expiresAt" | "deletedAt" | "refundedMicros" | "error" | "lastEventId"
>;

export interface OutputRow {
  readonly jobSeq: number;
  readonly position: number;
  readonly status: OutputStatus;
  readonly assetId: string | null;
  readonly voiceId: string | null;
  /** Relative to the data folder. */
  readonly path: string | null;
  readonly contentType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
  readonly sizeBytes: number | null;
  /** The frame rate is reported as not probed before this instant; null means never hidden. */
  readonly fpsShownAt: number | null;
  readonly error: string | null;
}

export type LogLevel = "info" | "warning" | "error";
export type LogSource = "api" | "worker" | "provider" | "cron";
export type LogName =
  | "queued"
  | "started"
  | "moderation.passed"
  | "provider.submitted"
  | "provider.error"
  | "retry.scheduled"
  | "progress"
  | "finalizing"
  | "download.ready"
  | "completed"
  | "failed"
  | "recovered";

/** A transition's event; the store adds id and instant. */
export interface NewEvent {
  readonly level: LogLevel;
  readonly event: LogName;
  readonly message: string;
  readonly source: LogSource;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventRow {
  readonly jobSeq: number;
  readonly id: number;
  readonly at: number;
  readonly level: LogLevel;
  readonly event: LogName;
  readonly message: string;
  readonly source: LogSource;
  /** JSON text. */
  readonly data: string;
}

export interface WorkspaceRow {
  readonly workspaceId: string;
  readonly fundedMicros: number;
  readonly chargedMicros: number;
  readonly refundedMicros: number;
  readonly cardDeclined: number;
}

export interface KeyRow {
  readonly seq: number;
  readonly keyId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly kind: "personal" | "service";
  readonly name: string | null;
  readonly secretHash: Uint8Array;
  readonly previousHash: Uint8Array | null;
  readonly previousUntil: number | null;
  /** JSON array; null means full access. */
  readonly scopes: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
}

export interface TokenRow {
  readonly tokenHash: Uint8Array;
  readonly keyId: string;
  readonly scopes: string | null;
  readonly expiresAt: number;
}

export interface FileRow {
  readonly fileId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly url: string;
  readonly path: string;
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  /** Why no job can decode it; null when it can be decoded. */
  readonly fault: string | null;
  readonly sizeBytes: number;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface VoiceRow {
  readonly voiceId: string;
  readonly workspaceId: string;
  readonly ownerId: string;
  readonly jobSeq: number;
  readonly name: string;
  /** JSON of a voice profile. */
  readonly profile: string;
  readonly createdAt: number;
}

export interface IdempotencyRow {
  readonly workspaceId: string;
  readonly key: string;
  readonly model: string;
  readonly jobSeq: number;
  readonly ack: string;
}
