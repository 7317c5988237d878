import type { Candidate, DraftJson, Requirement } from "../../plan/draft.ts";
import { type MediaKind, NOT_ACCEPTED } from "../../plan/plan.ts";
import type { Handle, TakesHandle, Yields } from "../handle.ts";
import { chosenHandle, fieldsOf, mark } from "../handle.ts";
import type { ModelOrId, YieldOf } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { addJob, type Job, yieldOf } from "./add-job.ts";
import { type ChatMethod, chatMethod } from "./chat.ts";
import { addChoice, type ChooseMethod, chooseMethod } from "./choose.ts";
import { OptionReader } from "./options.ts";
import { type TaskMethod, taskMethod } from "./task.ts";

declare const KINDS: unique symbol;

/** An inspector for any kind of media. */
export type AnyInspector = Inspector<never>;

/** An inspector for the output of this model. */
export type InspectorOf<M extends ModelOrId> = Inspector<Extract<YieldOf<M>, MediaKind>>;

/**
 * Inspects an output file of a job. Returns what is wrong with the file, as a sentence for people, or null if nothing
 * is wrong. Anything else, such as `false`, fails the inspection. `showrunner/film` has inspectors, but any such function works.
 */
export interface Inspector<K extends MediaKind = MediaKind> {
  (made: Candidate): Inspected | Promise<Inspected>;
  /** Exists only as a type. It records the kinds of media that the function can inspect. */
  readonly [KINDS]?: (kind: K) => void;
  /** The inspector's version. Change it when the inspection changes. Default `"1"`. */
  readonly version?: string | undefined;
  /** Checks whether this machine has what the inspector needs, before anything is paid for. */
  readonly requires?: Requirement | undefined;
  /** Adds steps that inspect the output, instead of calling the function. Use it for inspections that cost money. */
  readonly addSteps?: ((steps: InspectingSteps, name: string, made: Handle) => InspectionSteps) | undefined;
}

/** The methods of `build` that an inspection needs. */
export interface InspectingSteps {
  readonly task: TaskMethod;
  readonly chat: ChatMethod;
  readonly choose: ChooseMethod;
}

/**
 * The steps of an inspection. `check` fails with {@link NotAcceptedError} if it rejects the output. `passed` stands for
 * the accepted output.
 */
export interface InspectionSteps {
  readonly check: Handle;
  readonly passed: Handle;
}

export type Inspected = string | readonly string[] | null | undefined;

/** Options for inspecting a job's output with `I`, an inspector that fits the model's kind of output. */
export interface AcceptOptions<I extends AnyInspector> {
  /**
   * Inspects the output before any step that uses it begins. Default: no inspection. Cannot be combined with `revise`.
   */
  readonly accept?: I | undefined;
  /**
   * Maximum number of jobs. Each rejected output leads to another job with another seed, and all these jobs are
   * charged. Default 1.
   */
  readonly acceptAttempts?: number | undefined;
}

/** The handle of the accepted output. Its `input` refers to the fields that are the same in all attempts. */
export type AcceptedHandle<Y extends Yields, I = unknown> = Omit<TakesHandle<Y, I>, "outputs">;

export const ACCEPT_OPTIONS: readonly string[] = ["accept", "acceptAttempts"];

/**
 * Thrown when an inspector rejects an output. The message lists what the inspector found. Any other error means that
 * the inspection itself failed.
 */
export class NotAcceptedError extends Error {
  readonly code = NOT_ACCEPTED;
}

export function scorerOf(inspect: Inspector): (candidate: Candidate) => Promise<number> {
  return async (candidate) => {
    const reasons = reasonsIn(await inspect(candidate), "accept");
    if (reasons.length > 0) throw new NotAcceptedError(reasons.join("; "));
    return 1;
  };
}

/** Returns what an inspection found. `name` is the option with the function that returned it. */
export function reasonsIn(found: unknown, name: string): readonly string[] {
  if (found === null || found === undefined) return [];
  const reasons: readonly unknown[] = Array.isArray(found) ? found : [found];
  if (reasons.every(isReason)) return reasons;
  const other = reasons.find((reason) => !isReason(reason));
  // If this counted as "nothing found", `(file) => file.width > 500` would accept every file.
  throw new TypeError(
    `\`${name}\` must return null or what is wrong, not ${other === found ? "" : "a list with "}${named(other)}`,
  );
}

const isReason = (reason: unknown): reason is string => typeof reason === "string" && reason !== "";

function named(value: unknown): string {
  if (value instanceof Error) return "an Error";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : value === "" ? '""' : String(value);
}

/** Adds the attempts `<name>/1`, `<name>/2` …, a check `<name>/N-ok` for each, and `<name>/pick`. */
export function addAccepted<M extends ModelOrId>(
  recorder: Recorder,
  name: string,
  job: Omit<Job, "path" | "seed"> & { readonly model: M },
  read: OptionReader,
): AcceptedHandle<YieldOf<M>> {
  const attempts = read.count("acceptAttempts", { least: 1, most: 20, preset: 1 });
  const part = recorder.part(name);
  const inspector = inspectorOf(read);
  if (read.get("revise") !== undefined) read.bad("revise", "use either `accept` or `revise`, not both");
  const steps = { task: taskMethod(part), chat: chatMethod(part), choose: chooseMethod(part) };
  const checks: string[] = [];
  const accepted: string[] = [];
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const before = checks.at(-1);
    const path = part.path(attempt);
    const when = before === undefined ? job.when : { failed: before, code: NOT_ACCEPTED };
    addJob(part, { ...job, ...seeded(job.input, attempt), path, when });
    const name = `${attempt}-ok`;
    if (inspector.addSteps !== undefined) {
      const { check, passed } = inspector.addSteps(steps, name, chosenHandle(path, yieldOf(job.model), part.build));
      checks.push(check.step);
      accepted.push(passed.step);
      continue;
    }
    const check = part.path(name);
    const { version, requires } = inspector;
    const options = new OptionReader({ version, requires }, check, recorder);
    addChoice(part, check, [{ $ref: { step: path, output: "single" } }], {
      read: options,
      by: scorerOf(inspector),
    });
    checks.push(check);
    accepted.push(check);
  }
  const pick = part.path("pick");
  const among = accepted.map((step) => ({ $ref: { step, output: "single" as const } }));
  addChoice(part, pick, among, { read: new OptionReader({}, pick, recorder), by: "first" });
  const { build } = recorder;
  // All attempts have the same input except for the seed.
  const input = fieldsOf(part.path(1), { build, input: job.input });
  const facts = { step: pick, yields: yieldOf(job.model), form: "single", input } as AcceptedHandle<YieldOf<M>>;
  return mark(facts, { to: "step", step: pick, output: "single", build });
}

function inspectorOf(read: OptionReader): Inspector {
  const accept = read.get("accept");
  if (typeof accept === "function") return accept as Inspector;
  read.bad("accept", "`accept` must be a function that returns what is wrong with a file");
  return () => null;
}

/** The first attempt keeps its input unchanged, so that an earlier result can be reused. */
function seeded(input: DraftJson, attempt: number): { readonly input: DraftJson; readonly seed: number | null } {
  if (attempt === 1 || typeof input !== "object" || input === null || Array.isArray(input))
    return { input, seed: null };
  const { seed = 0, ...unseeded } = input as { readonly seed?: DraftJson };
  return typeof seed === "number" ? { input: unseeded, seed: seed + attempt - 1 } : { input, seed: null };
}
