import { isRecord } from "../json.ts";
import { mapTexts, type RecordedAnswer } from "../recording/recorded-values.ts";

/** `fast` answers each request with the next response; `real` waits as long as the recorded service did. */
export type ReplaySpeed = "fast" | "real";

export interface RecordedJob {
  readonly jobId: string;
  /** Does not include the response that accepted the job. */
  readonly answers: readonly RecordedAnswer[];
  readonly ids: ReadonlySet<string>;
}

export class ReplayedJob {
  readonly recorded: RecordedJob;
  readonly submittedAt: number;
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

  dueAt({ at_ms }: RecordedAnswer): number {
    return this.submittedAt + at_ms - this.#ackAtMs;
  }

  openStream(isWanted: (answer: RecordedAnswer) => boolean, now: number): RecordedAnswer | null {
    const known = this.recorded.answers.filter(isWanted);
    return known.find((answer) => this.dueAt(answer) > now) ?? known.at(-1) ?? null;
  }

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

  isEarly(isWanted: (answer: RecordedAnswer) => boolean, now: number): boolean {
    const known = this.recorded.answers.filter(isWanted);
    return known.length > 0 && known.every((answer) => this.dueAt(answer) > now);
  }

  /** Returns whether no response is left, although the job has not ended. */
  isCutOff(speed: ReplaySpeed, now: number): boolean {
    const { answers } = this.recorded;
    const isPast = speed === "real" ? answers.every((one) => this.dueAt(one) <= now) : this.#position >= answers.length;
    return isPast && answers.length > 0 && !answers.some(saysEnd);
  }

  /** Replaces recorded ids with this job's ids, and shifts times to match this job's submission. */
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

function saysEnd({ status, answer, events }: RecordedAnswer): boolean {
  const said = [answer, ...(events ?? []).map(({ data }) => data)];
  const isGone = status >= 400 && status < 500 && status !== 429;
  return isGone || said.some((one) => isRecord(one) && ENDS.has(String(one.status)));
}

export function recordedId(id: string): string {
  return id.replace(/~\d+$/, "");
}

export function idsIn(jobId: string, answers: readonly RecordedAnswer[]): ReadonlySet<string> {
  const outputs = answers.flatMap(({ answer }) =>
    isRecord(answer) && Array.isArray(answer.outputs) ? answer.outputs : [],
  );
  const named = outputs.flatMap((output: unknown) => (isRecord(output) ? [output.asset_id, output.voice_id] : []));
  return new Set([jobId, ...named.filter((id) => typeof id === "string")]);
}
