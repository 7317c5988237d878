import { isRecord } from "../json.ts";
import { mapTexts, type RecordedAnswer } from "../recording/recorded-values.ts";

/** When a response is due: at the next request (`fast`), or as long after the job's submission as recorded (`real`). */
export type ReplaySpeed = "fast" | "real";

export interface RecordedJob {
  readonly jobId: string;
  /** The recorded responses about the job, in order, without the response that accepted it. */
  readonly answers: readonly RecordedAnswer[];
  /** The ids of the job, its assets and its voices. */
  readonly ids: ReadonlySet<string>;
}

/** A job that is replayed from a recorded job, and its position among the recorded responses. */
export class ReplayedJob {
  readonly recorded: RecordedJob;
  /** In epoch milliseconds, on the service's clock. */
  readonly submittedAt: number;
  /** How much later this job was submitted than the recorded job, in milliseconds. */
  readonly #shiftMs: number;
  readonly #ackAtMs: number;
  readonly #suffix: string;
  #position = 0;

  constructor(
    recorded: RecordedJob,
    count: number,
    submittedAt: number,
    recordedAt: { startedAt: number; atMs: number },
  ) {
    this.recorded = recorded;
    this.submittedAt = submittedAt;
    this.#ackAtMs = recordedAt.atMs;
    this.#shiftMs = submittedAt - recordedAt.startedAt - recordedAt.atMs;
    this.#suffix = count === 1 ? "" : `~${count}`;
  }

  get jobId(): string {
    return this.recorded.jobId + this.#suffix;
  }

  /** When a recorded response is due at real speed, in epoch milliseconds on the service's clock. */
  dueAt({ at_ms }: RecordedAnswer): number {
    return this.submittedAt + at_ms - this.#ackAtMs;
  }

  /** The recorded stream that is open at `now` at real speed, or else the last one; null if none is recorded. */
  openStream(isWanted: (answer: RecordedAnswer) => boolean, now: number): RecordedAnswer | null {
    const known = this.recorded.answers.filter(isWanted);
    return known.find((answer) => this.dueAt(answer) > now) ?? known.at(-1) ?? null;
  }

  /**
   * The next recorded response accepted by `isWanted`; null if none is recorded or, at real speed, due. In a fast
   * replay, each response moves the job forward for all endpoints, so that no response shows an older state than the
   * previous one.
   */
  next(isWanted: (answer: RecordedAnswer) => boolean, speed: ReplaySpeed, now: number): RecordedAnswer | null {
    const { answers } = this.recorded;
    if (speed === "real") {
      return answers.findLast((answer) => isWanted(answer) && this.dueAt(answer) <= now) ?? null;
    }
    const at = answers.findIndex((answer, index) => index >= this.#position && isWanted(answer));
    if (at < 0) return answers.findLast(isWanted) ?? null;
    this.#position = at + 1;
    return answers[at]!;
  }

  /** True if there are recorded responses that `isWanted` accepts, but none is due yet when replaying in real time. */
  isEarly(isWanted: (answer: RecordedAnswer) => boolean, now: number): boolean {
    const known = this.recorded.answers.filter(isWanted);
    return known.length > 0 && known.every((answer) => this.dueAt(answer) > now);
  }

  /** True if the replay has reached the last recorded response, and no response shows the end of the job. */
  isCutOff(speed: ReplaySpeed, now: number): boolean {
    const { answers } = this.recorded;
    const isPast = speed === "real" ? answers.every((one) => this.dueAt(one) <= now) : this.#position >= answers.length;
    return isPast && answers.length > 0 && !answers.some(saysEnd);
  }

  /** Replaces recorded ids in a value with this job's ids, and shifts times to match this job's submission. */
  personal(value: unknown): unknown {
    return mapTexts(value, (text, name) => {
      if (/(?:_at|^timestamp)$/.test(name)) return this.#shifted(text);
      return this.#suffix === "" ? text : this.#renamed(text);
    });
  }

  #shifted(text: string): string {
    const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
    const shifted = new Date(at + this.#shiftMs);
    return Number.isNaN(shifted.getTime()) ? text : shifted.toISOString();
  }

  #renamed(text: string): string {
    if (this.recorded.ids.has(text)) return text + this.#suffix;
    const path = `/jobs/${encodeURIComponent(this.recorded.jobId)}`;
    return text.includes(path) ? text.replace(path, `${path}${this.#suffix}`) : text;
  }
}

const ENDS = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** Whether a recorded response says that its job ended or no longer exists. */
function saysEnd({ status, answer, events }: RecordedAnswer): boolean {
  const said = [answer, ...(events ?? []).map(({ data }) => data)];
  const isGone = status >= 400 && status < 500 && status !== 429;
  return isGone || said.some((one) => isRecord(one) && ENDS.has(String(one.status)));
}

/** The recorded id from which a replayed id was derived. */
export function recordedId(id: string): string {
  return id.replace(/~\d+$/, "");
}

/** The ids of a job, its assets and its voices, collected from the job's recorded responses. */
export function idsIn(jobId: string, answers: readonly RecordedAnswer[]): ReadonlySet<string> {
  const outputs = answers.flatMap(({ answer }) =>
    isRecord(answer) && Array.isArray(answer.outputs) ? answer.outputs : [],
  );
  const named = outputs.flatMap((output: unknown) => (isRecord(output) ? [output.asset_id, output.voice_id] : []));
  return new Set([jobId, ...named.filter((id) => typeof id === "string")]);
}
