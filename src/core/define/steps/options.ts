import { webOrigin } from "../../kit/clean-text.ts";
import { type Duration, formatDuration, parseDuration } from "../../kit/duration.ts";
import { parseUsd } from "../../kit/money.ts";
import type { DraftCondition, DraftReference, FailurePolicy, Json, StepPolicy } from "../../plan/plan.ts";
import { type Handle, pointerOf, type Value } from "../handle.ts";
import type { Recorder } from "../recorder.ts";

/** Options for every step. */
export interface StepOptions {
  /** Steps that must have ended before this one begins, in addition to those whose results it uses. */
  readonly after?: Handle | readonly Handle[] | undefined;
  /**
   * Runs the step only if this condition holds. Otherwise the step and the steps that use it are skipped, and results
   * that depend on it are null. Default: the step always runs.
   */
  readonly when?: When | undefined;
}

/** Options for a step that can fail. */
export interface WorkOptions extends StepOptions {
  /**
   * Maximum number of attempts. Default 1. A paid step's retries after temporary failures that cost nothing do not
   * count.
   */
  readonly attempts?: number | undefined;
  /**
   * What happens if this step fails: `continue` skips the steps that use it, and `failFast` stops the run. `quorum(n)`
   * applies to the steps that this step uses: this step starts once all of them have ended and at least n of their
   * results exist. Default: the pipeline's policy.
   */
  readonly onFailure?: FailurePolicy | undefined;
  /**
   * Whether to skip this step if no requested result can use it anymore. If `false`, the steps that it needs run too.
   * Default: the pipeline's setting.
   */
  readonly prune?: boolean | undefined;
}

export interface MediaOptions {
  /**
   * Expected duration of the step's output in milliseconds, if the plan cannot determine it. Used to check the limits
   * of the models that use the output, and to calculate prices. Default: the duration in the input, or an estimate from
   * the length of the text.
   */
  readonly expect?: { readonly durationMs: number } | undefined;
}

export interface WithinOption {
  /**
   * How long to wait for the job after the service accepts it, such as `"10m"`. After that time, the next option of a
   * `firstOf` begins, at its own price. Outside a `firstOf`, the run pauses once nothing else is left to do. The job
   * itself continues: it is still charged, and its result is still collected. Default: no limit.
   */
  readonly within?: Duration | undefined;
}

export interface PaidOptions extends WorkOptions, WithinOption {
  /**
   * Maximum cost of one attempt, in US dollars as a decimal string, such as `"1.50"`. Required if the service quotes no
   * price for the model.
   */
  readonly maxCost?: string | undefined;
}

const STEP_OPTIONS = ["after", "when"];
export const WORK_OPTIONS: readonly string[] = [...STEP_OPTIONS, "attempts", "onFailure", "prune"];
export const PAID_OPTIONS: readonly string[] = [...WORK_OPTIONS, "maxCost", "within"];
/** Minimum value of `within`. No job finishes in less time. */
const LEAST_WITHIN_MS = 1_000;

export class OptionReader {
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #step: string;
  readonly #recorder: Recorder;

  constructor(options: object | undefined, step: string, recorder: Recorder) {
    this.#step = step;
    this.#recorder = recorder;
    const isObject = typeof options === "object" && options !== null && pointerOf(options) === null;
    if (options !== undefined && !isObject)
      this.bad("options", "the options must be an object, such as { attempts: 2 }");
    this.#options = isObject ? { ...options } : {};
  }

  bad(field: string, message: string): void {
    this.#recorder.report({ code: "bad-option", step: this.#step, field, message });
  }

  only(word: string, names: readonly string[], every: readonly string[] = STEP_OPTIONS): void {
    for (const key of Object.keys(this.#options)) {
      if (every.includes(key) || names.includes(key)) continue;
      const known = [...new Set([...every, ...names])].sort();
      this.bad(key, `${key} is not an option of ${word}; its options are ${known.join(", ")}`);
    }
  }

  get(field: string): unknown {
    return this.#options[field];
  }

  count(field: string, bounds: { readonly least: number; readonly most: number; readonly preset: number }): number {
    const value = this.#options[field] ?? bounds.preset;
    const { least, most } = bounds;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const given = this.#options[field] === undefined ? "missing" : say(value);
    this.bad(field, `${field} is ${given}; use a whole number from ${least} to ${most}`);
    return bounds.preset;
  }

  usd(field: string): number | null {
    const value = this.#options[field];
    if (value === undefined) return null;
    const micros = parseUsd(String(value));
    if (micros === null)
      this.bad(field, `${field} is ${say(value)}; use US dollars as a decimal string, such as "1.50"`);
    return micros;
  }

  milliseconds(field: string): number | null {
    const value = this.#options[field];
    if (value === undefined) return null;
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
    this.bad(field, `${field} is ${say(value)}; use milliseconds, such as 600_000`);
    return null;
  }

  string(field: string): string | null {
    const value = this.#options[field];
    if (value === undefined) return null;
    if (typeof value === "string" && value.length > 0) return value;
    this.bad(field, `${field} is ${say(value)}; use non-empty text`);
    return null;
  }

  origin(field: string): string | null {
    const text = this.string(field);
    if (text === null) return null;
    const origin = webOrigin(text);
    if (origin !== null) return origin;
    this.bad(field, `${field} is ${say(text)}; use an origin such as "http://assets.corp:8080", without a path`);
    return null;
  }

  policy(): StepPolicy {
    const keep = this.#options.keep ?? true;
    if (typeof keep !== "boolean") this.bad("keep", "`keep` must be true or false");
    const onFailure = this.failure() ?? this.#recorder.onFailure;
    const prune = this.#options.prune ?? this.#recorder.prune;
    if (typeof prune !== "boolean") this.bad("prune", "`prune` must be true or false");
    const consent = this.string("consent");
    const durationMs = this.#expectedMs();
    const withinMs = this.#withinMs();
    return {
      attempts: this.count("attempts", { least: 1, most: 100, preset: 1 }),
      maxCostMicros: this.usd("maxCost"),
      keep: keep !== false,
      ...(onFailure !== null && { onFailure }),
      ...(prune === false && { prune }),
      ...(consent !== null && { consent }),
      ...(durationMs !== null && { expect: { durationMs } }),
      ...(withinMs !== null && { withinMs }),
    };
  }

  #withinMs(): number | null {
    const given = this.#options.within;
    if (given === undefined) return null;
    const ms = typeof given === "string" ? parseDuration(given) : null;
    if (ms !== null && ms >= LEAST_WITHIN_MS) return ms;
    const least = ms === null ? "a duration" : `at least ${formatDuration(LEAST_WITHIN_MS)}`;
    this.bad("within", `\`within\` is ${say(given)}; use ${least}, such as "10m" or "90s"`);
    return null;
  }

  #expectedMs(): number | null {
    const given = this.#options.expect;
    if (given === undefined) return null;
    const durationMs = typeof given === "object" && given !== null && "durationMs" in given ? given.durationMs : null;
    if (typeof durationMs === "number" && Number.isFinite(durationMs) && durationMs > 0) return durationMs;
    this.bad("expect", `\`expect\` is ${say(given)}; use milliseconds, such as { durationMs: 2500 }`);
    return null;
  }

  failure(): FailurePolicy | null {
    const given = this.#options.onFailure;
    if (given === undefined) return null;
    const policy = failurePolicy(given);
    if (policy === null) this.bad("onFailure", `onFailure is ${say(given)}; ${FAILURE_POLICIES}`);
    return policy;
  }

  after(): readonly string[] {
    const { after } = this.#options;
    const handles: readonly unknown[] = after === undefined ? [] : Array.isArray(after) ? after : [after];
    return handles.flatMap((handle) => this.#stepsOf(handle, "after"));
  }

  when(): DraftCondition | null {
    const { when } = this.#options;
    if (when === undefined) return null;
    if (!isWhenCondition(when)) return this.#test(when, (ref) => ({ ref, is: "truthy" }));
    switch (when.test) {
      case "not":
        return this.#test(when.of, (ref) => ({ ref, is: "falsy" }));
      case "equals": {
        const value = this.#recorder.json(when.value, { step: this.#step, field: "when" });
        return this.#test(when.of, (ref) => ({ ref, equals: value as Json }));
      }
      case "failed": {
        const [step] = this.#stepsOf(when.of, "when");
        return step === undefined ? null : { failed: step };
      }
      default:
        return when.test satisfies never;
    }
  }

  #test(handle: unknown, make: (ref: DraftReference) => DraftCondition): DraftCondition | null {
    const pointer = pointerOf(handle);
    if (pointer?.to !== "step") {
      const message = "`when` must be a step's value or one of these conditions: not(…), equals(…, …) or failed(…)";
      this.bad("when", message);
      return null;
    }
    const ref = this.#recorder.json(handle, { step: this.#step, field: "when" });
    return ref === null ? null : make(ref as DraftReference);
  }

  #stepsOf(handle: unknown, field: string): readonly string[] {
    const pointer = pointerOf(handle);
    const pointers = pointer?.to === "step" ? [pointer] : pointer?.to === "several" ? pointer.pointers : [];
    const known = pointers.filter(({ build }) => this.#recorder.knows(build));
    if (pointers.length > 0 && known.length === pointers.length) return known.map(({ step }) => step);
    const message = `${field} accepts only handles of steps from the same \`build\` function`;
    this.#recorder.report({ code: "foreign-handle", step: this.#step, field, message });
    return [];
  }
}

export const FAILURE_POLICIES = 'use "continue", "failFast" or quorum(n) with n of at least 1';

export function failurePolicy(given: unknown): FailurePolicy | null {
  if (given === "continue" || given === "failFast") return given;
  const count = typeof given === "object" && given !== null && "quorum" in given ? given.quorum : null;
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 1 ? { quorum: count } : null;
}

function say(value: unknown): string {
  return pointerOf(value) !== null ? "a handle" : (JSON.stringify(value) ?? String(value));
}

export function readAmong(
  given: unknown,
  at: { readonly step: string; readonly field: string },
  recorder: Recorder,
): readonly DraftReference[] {
  const items: readonly unknown[] = Array.isArray(given) ? given : [given];
  const inList = (index: number) => (Array.isArray(given) ? `${at.field}[${index}]` : at.field);
  return items.flatMap((item, index) => {
    const field = inList(index);
    const pointer = pointerOf(item);
    if (pointer?.to !== "step" && pointer?.to !== "several") {
      const message = "accepts only handles of steps from the same `build` function";
      recorder.report({ code: "foreign-handle", step: at.step, field, message });
      return [];
    }
    const json = recorder.json(item, { step: at.step, field });
    return (Array.isArray(json) ? json : [json]).filter((entry) => entry !== null) as readonly DraftReference[];
  });
}

const CONDITION = Symbol.for("showrunner.condition");

/**
 * The condition of a step: a value that must not be empty (null, false, 0, "" or an empty list), or a condition from
 * {@link not}, {@link equals} or {@link failed}.
 */
export type When = Value | WhenCondition;

/** A condition from {@link not}, {@link equals} or {@link failed}. */
export interface WhenCondition {
  readonly test: "not" | "equals" | "failed";
  readonly of: Handle;
  /** The value to compare with, for `equals`. */
  readonly value?: unknown;
}

/** Makes a condition for `when`: the step runs if the value is null, false, 0, "" or an empty list. */
export function not(value: Value): WhenCondition {
  return condition({ test: "not", of: value });
}

/** Makes a condition for `when`: the step runs if the value equals `requested`. */
export function equals<T>(value: Value<T>, requested: NoInfer<T>): WhenCondition {
  return condition({ test: "equals", of: value, value: requested });
}

/**
 * Makes a condition for `when`: the step runs if another step failed. To use the result of whichever step succeeded,
 * use `choose`.
 */
export function failed(step: Handle): WhenCondition {
  return condition({ test: "failed", of: step });
}

/** Makes a failure policy that requires at least this many results. See the `onFailure` option of pipelines and steps. */
export function quorum(count: number): FailurePolicy & { readonly quorum: number } {
  return { quorum: count };
}

function isWhenCondition(value: unknown): value is WhenCondition {
  return typeof value === "object" && value !== null && CONDITION in value;
}

function condition(given: WhenCondition): WhenCondition {
  const created = { ...given };
  Object.defineProperty(created, CONDITION, { value: true });
  return Object.freeze(created);
}
