import type { Families } from "../../families/index.ts";
import type { JournalStore } from "../../journal/store.ts";
import { ownText } from "../../kit/clean-text.ts";
import {
  type Json,
  type KnownMedia,
  type LocalFunction,
  type Plan,
  type PlanStep,
  type Problem,
  type Reference,
  stepNamed,
  traitsOf,
} from "../../plan/plan.ts";
import type { PlanWarning } from "./totals.ts";

type StepAt = (path: string) => PlanStep | undefined;

/** An expected property, such as the duration, of media that do not exist yet. */
export interface Expected {
  readonly value: number;
  /** The actual value may be larger or smaller by up to this factor. */
  readonly factor: number;
  /** What the value is based on, as shown in messages. Null if it is a guess. */
  readonly why: string | null;
}

export type EarlierMs = (path: string) => { readonly ms: number; readonly isMadeAgain: boolean } | null;

const MEASURED = "its file";
const GUESS = { value: 5000, factor: 4, why: null };
/**
 * Tolerance factor for requested or declared values. A file can exceed them slightly, because it consists of whole
 * frames and samples.
 */
const SAID = 1.1;
const SPOKEN = 1.5;

export function firstOf(source: PlanStep, stepAt: StepAt): PlanStep {
  const [first] = traitsOf(source).standsFor;
  const found = first === undefined ? undefined : stepAt(first.$ref.step);
  return found === undefined ? source : firstOf(found, stepAt);
}

function agreed<E extends Expected | null>(source: PlanStep, stepAt: StepAt, of: (step: PlanStep) => E): E | Expected {
  const targets = traitsOf(source).standsFor.flatMap(({ $ref }) => stepAt($ref.step) ?? []);
  const [first, ...others] = targets.map((target) => agreed(target, stepAt, of));
  if (first === undefined) return of(source);
  const isSame = others.every((other) => other?.value === first?.value);
  return isSame || first === null ? first : { ...first, factor: GUESS.factor, why: null };
}

export function expectedMs(source: PlanStep, stepAt: StepAt, earlier: EarlierMs = () => null): Expected {
  return agreed(source, stepAt, (step) => {
    if (step.kind === "upload" && step.file.durationMs !== undefined)
      return { value: step.file.durationMs, factor: 1, why: MEASURED };
    const earlierResult = earlier(step.path);
    // A new take may be longer or shorter than the earlier one.
    if (earlierResult !== null)
      return { value: earlierResult.ms, factor: earlierResult.isMadeAgain ? SPOKEN : 1, why: null };
    const declaredMs = "policy" in step ? step.policy.expect?.durationMs : undefined;
    if (declaredMs !== undefined) return { value: declaredMs, factor: SAID, why: "its expect" };
    const input = inputOf(step);
    const { duration_ms: durationMs, text, speed } = input;
    if (typeof durationMs === "number") return { value: durationMs, factor: SAID, why: "its duration_ms" };
    // Without a voice, the text is not spoken but describes the sound.
    if (typeof text !== "string" || !("voice_id" in input)) return GUESS;
    const value = Math.max(1000, spokenMs(text) / (typeof speed === "number" && speed > 0 ? speed : 1));
    // Tags in the text may request pauses of any length.
    if (/[<[{]/.test(text)) return { ...GUESS, value };
    return { value, factor: SPOKEN, why: `its text of ${text.length} characters` };
  });
}

export async function foreseeMedia(plan: Plan, functions: ReadonlyMap<string, LocalFunction>) {
  const stepAt = (path: string) => stepNamed(plan, path);
  const warnings: PlanWarning[] = [];
  const problems: Problem[] = [];
  const known = new Map<string, Promise<number | null>>();
  const stepOf = (media: unknown): PlanStep | undefined => {
    const source = stepAt((media as Partial<Reference>).$ref?.step ?? "");
    return source && firstOf(source, stepAt);
  };
  const secondsOf = (step: PlanStep | undefined): Promise<number | null> => {
    if (step === undefined) return Promise.resolve(null);
    const seconds = known.get(step.path) ?? foreseen(step);
    known.set(step.path, seconds);
    return seconds;
  };
  const media: KnownMedia = {
    secondsOf: (given) => secondsOf(stepOf(given)),
    fileOf: (given) => {
      const step = stepOf(given);
      return step?.kind === "upload" ? step.file.path : null;
    },
  };
  const foreseeOf = (step: PlanStep) => {
    const code = functions.get(step.path);
    if (step.kind !== "task" || code?.kind !== "task" || code.foresee === undefined) return null;
    const { foresee } = code;
    return (known: KnownMedia) => foresee(step.input, known);
  };
  const foreseen = async (step: PlanStep): Promise<number | null> => {
    const foresee = foreseeOf(step);
    if (foresee !== null) {
      const { seconds, warning, problem } = await foresee(media);
      const of = (text: string) => ({ step: step.path, message: ownText(text) });
      if (warning != null) warnings.push({ code: "length", ...of(warning) });
      if (problem != null) problems.push({ code: "unread-media", field: problem.field, ...of(problem.message) });
      return seconds;
    }
    const { value, why } = expectedMs(step, stepAt);
    return why === null ? null : value / 1000;
  };
  for (const step of plan.steps) if (foreseeOf(step) !== null) await secondsOf(step);
  return { warnings, problems };
}

export function longestMsOf({ value, factor }: Expected): number {
  return factor <= SAID ? value * factor : Infinity;
}

export function expectedRatio(source: PlanStep, stepAt: StepAt): Expected | null {
  return agreed(source, stepAt, (step) => {
    if (step.kind === "upload" && step.file.ratio !== undefined)
      return { value: step.file.ratio, factor: 1, why: MEASURED };
    const { aspect_ratio: ratio } = inputOf(step);
    const [, width, height] = /^(\d+):(\d+)$/.exec(typeof ratio === "string" ? ratio : "") ?? [];
    const value = Number(width) / Number(height);
    return value > 0 && Number.isFinite(value) ? { value, factor: SAID, why: `its aspect_ratio of ${ratio}` } : null;
  });
}

function inputOf(step: PlanStep): { readonly [field: string]: Json } {
  const input = traitsOf(step).submits?.input;
  return typeof input === "object" && input !== null && !Array.isArray(input)
    ? (input as { readonly [field: string]: Json })
    : {};
}

const CHARACTER_MS = 70;
/** Characters that take longer to speak than a letter, each with the extra time in milliseconds. */
const MORE_MS = [
  [/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu, 150],
  [/\d/g, 230],
] as const;

function spokenMs(text: string): number {
  const more = MORE_MS.map(([kind, ms]) => (text.match(kind)?.length ?? 0) * ms);
  return more.reduce((sum, ms) => sum + ms, text.length * CHARACTER_MS);
}

const REMEMBERED = 60;
const LOADED_FOR_MS = 60_000;

interface DurationParts {
  readonly store: Pick<JournalStore, "results">;
  readonly account: string;
  readonly families: Families;
  readonly now: () => number;
}

/** Estimates how long a step runs: the mean of its model's past jobs, or a typical value for its family or kind. */
export class ExpectedDurations {
  readonly #parts: DurationParts;
  readonly #known = new Map<string, { readonly meanMs: number; readonly loadedAt: number }>();

  constructor(parts: DurationParts) {
    this.#parts = parts;
  }

  async load(steps: readonly PlanStep[]): Promise<void> {
    const { store, account, now } = this.#parts;
    for (const model of new Set(steps.flatMap((step) => ("model" in step ? [step.model] : [])))) {
      const loadedAt = now();
      const known = this.#known.get(model);
      if (known !== undefined && loadedAt < known.loadedAt + LOADED_FOR_MS) continue;
      const took = (await store.results({ account, model }, REMEMBERED)).flatMap(({ tookMs }) => tookMs ?? []);
      // Do not cache a model without finished jobs, because its first job may end at any time.
      if (took.length === 0) continue;
      this.#known.set(model, { meanMs: took.reduce((sum, ms) => sum + ms, 0) / took.length, loadedAt });
    }
  }

  expectedMs(step: PlanStep): number {
    const known = this.knownMs(step);
    if (known !== null) return known;
    return ("model" in step ? this.#parts.families.of(step.model)?.typicalMs : null) ?? traitsOf(step).typicalMs;
  }

  knownMs(step: PlanStep): number | null {
    return "model" in step ? (this.#known.get(step.model)?.meanMs ?? null) : null;
  }
}
