import { type ErrorBody, flagged } from "../http/refusal.ts";
import { isRecord } from "../json.ts";
import { randomFrom } from "../render/random.ts";
import type { JobRow } from "../store/rows.ts";
import type { FaultKind, ParsedRule } from "./rules.ts";

export interface FaultSubject {
  readonly route: string | null;
  readonly model: string | null;
  readonly prompt: string | null;
}

type RuleOf<Kind extends FaultKind> = Extract<ParsedRule, { readonly kind: Kind }>;

interface LiveRule {
  readonly rule: ParsedRule;
  readonly prompt: RegExp | null;
  readonly index: number;
  matched: number;
  struck: number;
}

function matches({ rule, prompt }: LiveRule, subject: FaultSubject): boolean {
  if (rule.route !== undefined && subject.route !== null && rule.route !== subject.route) return false;
  if (rule.model !== undefined && rule.model !== subject.model) return false;
  return prompt === null || (subject.prompt !== null && prompt.test(subject.prompt));
}

function strikes(live: LiveRule, seed: number): boolean {
  const { rule } = live;
  const number = live.matched++;
  if (number < (rule.skip ?? 0) || live.struck >= (rule.count ?? Number.POSITIVE_INFINITY)) return false;
  if (randomFrom(seed, live.index, number)() >= (rule.probability ?? 1)) return false;
  live.struck += 1;
  return true;
}

export class FaultEngine {
  #rules: LiveRule[] = [];
  #seed = 0;

  set(rules: readonly ParsedRule[], seed = 0): void {
    this.#seed = seed;
    this.#rules = rules.map((rule, index) => ({ rule, prompt: pattern(rule.prompt), index, matched: 0, struck: 0 }));
  }

  /** Returns whether a rule of one of these kinds exists, even if it has already reached its `count`. */
  has(...kinds: readonly FaultKind[]): boolean {
    return this.#rules.some(({ rule }) => kinds.includes(rule.kind));
  }

  strike<Kind extends FaultKind>(
    kind: Kind,
    subject: FaultSubject,
    isMeant: (rule: RuleOf<Kind>) => boolean = () => true,
  ): RuleOf<Kind> | null {
    for (const live of this.#rules) {
      if (live.rule.kind !== kind || !isMeant(live.rule as RuleOf<Kind>) || !matches(live, subject)) continue;
      if (strikes(live, this.#seed)) return live.rule as RuleOf<Kind>;
    }
    return null;
  }

  view() {
    return { seed: this.#seed, rules: this.#rules.map(({ rule, matched, struck }) => ({ ...rule, matched, struck })) };
  }
}

function pattern(source: string | undefined): RegExp | null {
  if (source === undefined) return null;
  try {
    return new RegExp(source, "i");
  } catch {
    return new RegExp(source.replaceAll(/[^\w\s]/g, "\\$&"), "i");
  }
}

type JobSubject = Pick<JobRow, "model" | "prompt">;

export interface StreamFault {
  /** Time between events, in milliseconds of real time, not of the service's clock. */
  readonly delayMs: number;
  readonly cutAfter: number | null;
  readonly clean: boolean;
}

export interface ForcedEnd {
  readonly job: ErrorBody | null;
  readonly outputs: ReadonlyMap<number, ErrorBody>;
  readonly fpsLateMs: number;
  readonly expireNow: boolean;
}

export function promptOf(input: unknown): string | null {
  if (!isRecord(input)) return null;
  const texts = [input["prompt"], input["text"], input["name"]].filter((text) => typeof text === "string");
  return texts.length === 0 ? null : texts.join("\n");
}

type Objection = Pick<RuleOf<"fail_job">, "code" | "param" | "category">;

function errorBody({ code, param, category }: Objection, retryable: boolean): ErrorBody {
  const more = param === undefined ? {} : flagged(param, category);
  const body = { code, message: "The model could not finish this job; its cost was refunded.", retryable, ...more };
  return retryable ? { ...body, retry_after: 1 } : body;
}

export function jobFaults(engine: FaultEngine) {
  const strike = <Kind extends FaultKind>(kind: Kind, { model, prompt }: JobSubject) =>
    engine.strike(kind, { route: null, model, prompt });

  return {
    costLateMs: (job: JobSubject) => strike("cost_late", job)?.delay_ms ?? 0,
    chargeFactor: (job: JobSubject) => strike("charge", job)?.factor ?? 1,
    forgetsKeys: (job: JobSubject) => strike("forget_key", job) !== null,
    fundsBeforeKeys: (job: JobSubject) => strike("funds_before_keys", job) !== null,
    failsDelete: (job: JobSubject) => strike("delete_unavailable", job) !== null,
    endOf(job: JobRow): ForcedEnd {
      const about = { model: job.model, prompt: promptOf(JSON.parse(job.input)) };
      const whole = strike("fail_job", about);
      const some = strike("fail_output", about);
      return {
        job: whole && errorBody(whole, whole.retryable),
        outputs: new Map((some?.outputs ?? []).map((position) => [position, errorBody(some!, false)])),
        fpsLateMs: strike("fps_late", about)?.delay_ms ?? 0,
        expireNow: strike("expire_now", about) !== null,
      };
    },
    stream(job: JobSubject): StreamFault | null {
      const slow = strike("slow_stream", job);
      const cut = strike("cut_stream", job);
      if (!slow && !cut) return null;
      return { delayMs: slow?.delay_ms ?? 0, cutAfter: cut?.after_frames ?? null, clean: cut?.clean ?? true };
    },
    webhook: (job: JobSubject) => ({
      never: strike("webhook_never", job) !== null,
      duplicate: strike("webhook_duplicate", job) !== null,
      delayMs: strike("webhook_delay", job)?.delay_ms ?? 0,
    }),
    download: (job: JobSubject) => strike("truncate_download", job)?.bytes ?? null,
  };
}

export type JobFaults = ReturnType<typeof jobFaults>;
