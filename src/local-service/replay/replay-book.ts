import { isRecord } from "../json.ts";
import type { ReplayOption } from "../options.ts";
import {
  mapTexts,
  type RecordedAnswer,
  recordable,
  SENDERS_OWN,
  withoutSendersOwn,
} from "../recording/recorded-values.ts";
import type { Recording } from "./recording.ts";

interface Sequence {
  readonly answers: RecordedAnswer[];
  position: number;
}

const JOB_PATH = /^\w+ \/jobs\/([^/?]+)/;
const SUBMIT = /^POST \/models\/[^/?]+$/;

export class ReplayBook {
  readonly #recording: Recording;
  readonly #sequences = new Map<string, Sequence>();
  readonly #jobs = new Map<string, RecordedJob>();
  readonly #ids = new Set<string>();
  readonly #counts = new Map<string, number>();
  readonly #replayed = new Map<string, ReplayedJob>();

  constructor(recording: Recording) {
    this.#recording = recording;
    for (const [jobId, answers] of Map.groupBy(recording.answers, ({ request }) => jobOf(request))) {
      if (jobId === null) {
        for (const answer of answers) this.#sequence(answer).answers.push(answer);
        continue;
      }
      const ids = idsIn(jobId, answers);
      this.#jobs.set(jobId, { jobId, answers, ids });
      for (const id of ids) this.#ids.add(id);
    }
  }

  /** Returns the next recorded response to a request. After the last response, repeats it. */
  next(request: string, body: unknown): RecordedAnswer | null {
    const sequence = this.#sequences.get(keyOf(request, body));
    if (sequence === undefined) return null;
    const answer = sequence.answers[sequence.position] ?? sequence.answers.at(-1)!;
    sequence.position += 1;
    return answer;
  }

  /**
   * Returns the next recorded response to a submit request. When none is left, cycles through the recorded jobs with
   * new ids.
   */
  submit(
    request: string,
    body: unknown,
    now: number,
  ): { readonly answer: RecordedAnswer; readonly job: ReplayedJob | null } | null {
    const sequence = this.#sequences.get(keyOf(request, body));
    if (sequence === undefined) return null;
    const due = sequence.answers[sequence.position];
    sequence.position += 1;
    const made = sequence.answers.filter((answer) => ackedJob(answer) !== null);
    // Further submit requests cycle through the recorded jobs. Recorded refusals are not repeated.
    const turn = (sequence.position - sequence.answers.length - 1) % Math.max(1, made.length);
    const answer = due ?? made[turn] ?? sequence.answers.at(-1)!;
    const jobId = ackedJob(answer);
    return { answer, job: jobId === null ? null : this.#create(jobId, answer, now) };
  }

  job(id: string, now: number): ReplayedJob | null {
    const known = this.#replayed.get(id);
    if (known !== undefined) return known;
    const recorded = this.#jobs.get(id);
    const [first] = recorded?.answers ?? [];
    if (recorded === undefined || first === undefined) return null;
    const job = new ReplayedJob(recorded, 1, now, { startedAt: this.#recording.startedAt, atMs: first.at_ms });
    this.#replayed.set(id, job);
    return job;
  }

  inRecordedIds(body: unknown): unknown {
    return mapTexts(body, (text) => {
      const id = recordedId(text);
      return id !== text && this.#ids.has(id) ? id : text;
    });
  }

  nearest(request: string, body: unknown): readonly string[] {
    const same = this.#recording.answers.filter((answer) => answer.request === request).slice(0, 1_000);
    const differences = same.map((answer) => differencesOf(body ?? {}, answer.body ?? {}));
    return differences.sort((a, b) => a.length - b.length)[0] ?? [];
  }

  #create(jobId: string, answer: RecordedAnswer, now: number): ReplayedJob {
    const recorded = this.#jobs.get(jobId) ?? { jobId, answers: [], ids: new Set([jobId]) };
    this.#ids.add(jobId);
    const count = (this.#counts.get(jobId) ?? 0) + 1;
    this.#counts.set(jobId, count);
    const { startedAt } = this.#recording;
    const job = new ReplayedJob(recorded, count, now, { startedAt, atMs: answer.at_ms });
    this.#replayed.set(job.jobId, job);
    return job;
  }

  #sequence({ request, body }: RecordedAnswer) {
    const key = keyOf(request, body);
    const sequence = this.#sequences.get(key) ?? { answers: [], position: 0 };
    this.#sequences.set(key, sequence);
    return sequence;
  }
}

/**
 * Returns the key for matching a request with recorded ones. Ignores the fields in `SENDERS_OWN`, null fields, and the
 * order of fields.
 */
function keyOf(request: string, body: unknown): string {
  return `${request}\n${JSON.stringify(ordered(recordable(withoutSendersOwn(body) ?? {}), MOST_DEPTH))}`;
}

function ackedJob({ request, status, answer }: RecordedAnswer): string | null {
  if (!SUBMIT.test(request) || status !== 202 || !isRecord(answer)) return null;
  return typeof answer.job_id === "string" ? answer.job_id : null;
}

function jobOf(request: string): string | null {
  const [, segment] = JOB_PATH.exec(request) ?? [];
  if (segment === undefined) return null;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const MOST_DEPTH = 100;

function ordered(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((item) => ordered(item, depth - 1));
  const fields = Object.entries(value)
    .filter(([, item]) => item !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  // Returns pairs, because an object would sort numeric names first.
  return fields.map(([name, item]) => [name, ordered(item, depth - 1)]);
}

function differencesOf(a: unknown, b: unknown, path = "", depth = MOST_DEPTH): readonly string[] {
  if (JSON.stringify(ordered(a, depth)) === JSON.stringify(ordered(b, depth))) return [];
  const isBoth = isRecord(a) && isRecord(b);
  if (!isBoth || depth === 0) return [path || "body"];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (name) => path !== "" || !SENDERS_OWN.has(name),
  );
  return names
    .flatMap((name) => differencesOf(own(a, name), own(b, name), path === "" ? name : `${path}.${name}`, depth - 1))
    .slice(0, 3);
}

function own(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? (record[name] ?? undefined) : undefined;
}

type ReplaySpeed = NonNullable<ReplayOption["speed"]>;

interface RecordedJob {
  readonly jobId: string;
  /** Recorded responses about the job, except the response to its submission. */
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

  /** Returns whether the recording ran out of responses before the job ended. */
  isCutOff(speed: ReplaySpeed, now: number): boolean {
    const { answers } = this.recorded;
    const isPast =
      speed === "real" ? answers.every((answer) => this.dueAt(answer) <= now) : this.#position >= answers.length;
    return isPast && answers.length > 0 && !answers.some(saysEnd);
  }

  /**
   * Adapts a recorded value to this job. Replaces recorded ids with this job's ids, and shifts times to match its
   * submission.
   */
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
  const bodies = [answer, ...(events ?? []).map(({ data }) => data)];
  const isGone = status >= 400 && status < 500 && status !== 429;
  return isGone || bodies.some((body) => isRecord(body) && ENDS.has(String(body.status)));
}

export function recordedId(id: string): string {
  return id.replace(/~\d+$/, "");
}

function idsIn(jobId: string, answers: readonly RecordedAnswer[]): ReadonlySet<string> {
  const outputs = answers.flatMap(({ answer }) =>
    isRecord(answer) && Array.isArray(answer.outputs) ? answer.outputs : [],
  );
  const named = outputs.flatMap((output: unknown) => (isRecord(output) ? [output.asset_id, output.voice_id] : []));
  return new Set([jobId, ...named.filter((id) => typeof id === "string")]);
}
