import { didYouMean } from "../../kit/lookup.ts";
import type { Candidate, DraftJson, DraftReference, MediaKind, Requirement, StepPolicy } from "../../plan/plan.ts";
import { NOT_ACCEPTED } from "../../plan/step.ts";
import {
  chosenHandle,
  fieldsOf,
  type Handle,
  type JobHandle,
  jobHandle,
  mark,
  type StepPointer,
  type TakesHandle,
  takesHandle,
  type Yields,
} from "../handle.ts";
import { type InputOf, type MaxOutputsOf, MissingModel, type ModelOrId, type YieldOf } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { bindRevise, type ReviseOption, type SettledInput } from "./approve.ts";
import { type ChatMethod, chatMethod } from "./chat.ts";
import { addChoice, type ChooseMethod, type ChooseOptions, chooseMethod } from "./choose.ts";
import { type MediaOptions, OptionReader, PAID_OPTIONS, type PaidOptions } from "./options.ts";
import { addRewriting, isRewriting, MODERATED_OPTIONS, type ModeratedOptions } from "./rewrite.ts";
import { type TaskMethod, taskMethod } from "./task.ts";

/** Options for a job that runs the model `M`. */
export interface JobOptions<M extends ModelOrId = never>
  extends PaidOptions,
    MediaOptions,
    ReviseOption<SettledInput<M>> {
  /** Copies all outputs to disk as soon as they exist. Default true. */
  readonly keep?: boolean | undefined;
  /**
   * For a step that clones a voice: a statement that the speaker has agreed, and how you know this. The manifest of
   * every file in which the voice speaks includes the statement. Default: the pipeline's `consent`.
   */
  readonly consent?: string | undefined;
}

type Option = keyof JobOptions | keyof AcceptOptions<never> | keyof ModeratedOptions<undefined>;

/** Infers which options are given, because they determine the type of the handle. Rejects unknown options. */
type Given<K extends PropertyKey> = { readonly [P in K]?: P extends Option ? unknown : "unknown option" };

export interface JobMethod {
  /**
   * Adds a paid job that runs a model, given as a catalog model or its id. The handle stands for the job's output and
   * can be passed to any step that accepts this kind of media. `.output(i)` and `.outputs()` select among several
   * outputs. With `accept`, the output is inspected before any step that uses it begins. The steps are then `<name>/1`,
   * `<name>/1-ok` … and `<name>/pick`, and the handle stands for the accepted output.
   */
  <M extends ModelOrId, K extends PropertyKey = never, R extends "fail" | "rewrite" | undefined = undefined>(
    name: string,
    model: M,
    input: InputOf<M>,
    options?: JobOptions<NoInfer<M>> & AcceptOptions<InspectorOf<NoInfer<M>>> & ModeratedOptions<R> & Given<K>,
  ): "accept" extends K
    ? AcceptedHandle<YieldOf<M>, SettledInput<M>>
    : R extends "rewrite"
      ? Handle<YieldOf<M>, "single">
      : JobHandle<YieldOf<M>, MaxOutputsOf<M>, SettledInput<M>>;
}

const JOB_OPTIONS: readonly string[] = [...PAID_OPTIONS, "keep", "consent", "expect", "revise"];

export function jobMethod(recorder: Recorder): JobMethod {
  const add = <M extends ModelOrId>(name: string, model: M, input: InputOf<M>, options?: object) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a job", [...JOB_OPTIONS, ...ACCEPT_OPTIONS, ...MODERATED_OPTIONS]);
    const [after, when] = [read.after(), read.when()];
    const planned = recorder.json(input, { step: path, field: "input" });
    checkModel(recorder, path, model);
    const job = { model, input: planned, policy: read.policy(), after, when };
    const rewrites = isRewriting(read);
    if (read.get("accept") !== undefined) {
      if (rewrites)
        read.bad("onModerated", "`onModerated` cannot rewrite the prompt of a job with `accept`; remove one of them");
      return addAccepted(recorder, name, job, read);
    }
    if (read.get("acceptAttempts") !== undefined)
      read.bad(
        "acceptAttempts",
        "`acceptAttempts` has no effect without `accept`; add `accept`, or remove `acceptAttempts`",
      );
    if (rewrites) {
      if (read.get("revise") !== undefined)
        read.bad("revise", 'use either `revise` or onModerated: "rewrite", not both');
      const twice = { input: planned, policy: job.policy, yields: yieldOf(model) };
      const addOne = (part: Recorder, fields: Pick<Job, "path" | "input" | "policy">) =>
        addJob(part, { ...job, ...fields, seed: null });
      return addRewriting(recorder, name, { ...twice, add: addOne }, read);
    }
    addJob(recorder, { ...job, path, seed: null });
    bindRevise(recorder, path, read);
    return jobHandle<YieldOf<M>, MaxOutputsOf<M>>(path, yieldOf(model), { build: recorder.build, input: planned });
  };
  return add as JobMethod;
}

export interface TakesOptions<M extends ModelOrId = never>
  extends JobOptions<M>,
    Pick<ChooseOptions, "version" | "message"> {
  /** Number of takes. With `choose: "first"`, it is the maximum: a take is made only if all takes before it failed. */
  readonly count: number;
  /** How a take is chosen: by a person, by order (the first that succeeds), or by a function that scores each take. */
  readonly choose: ChooseOptions["by"];
}

export interface TakesMethod {
  /**
   * Adds several takes of one job and a step that chooses one of them. The steps are `<name>/1`, `<name>/2` … and
   * `<name>/pick`. Each take has its own seed if the model accepts one.
   */
  <M extends ModelOrId>(
    name: string,
    model: M,
    input: InputOf<M>,
    options: TakesOptions<NoInfer<M>>,
  ): TakesHandle<YieldOf<M>, SettledInput<M>>;
}

/** The upper limit for the seeds of takes. A model may have a lower limit. */
const SEEDS = 2 ** 31;

export function takesMethod(recorder: Recorder): TakesMethod {
  return <M extends ModelOrId>(name: string, model: M, input: InputOf<M>, options: Omit<TakesOptions, "revise">) => {
    const path = recorder.path(name);
    const part = recorder.part(name);
    const read = new OptionReader(options, path, recorder);
    read.only("takes", [...JOB_OPTIONS, "count", "choose", "version", "message"]);
    const count = read.count("count", { least: 1, most: 100, preset: Number.NaN });
    const [policy, after, firstWhen] = [read.policy(), read.after(), read.when()];
    const seed = seedOf(input) ?? hash(path);
    const { seed: _, ...unseeded } = (typeof input === "object" && input !== null ? input : {}) as { seed?: unknown };
    const given = typeof seedOf(input) === "number" ? unseeded : input;
    const planned = recorder.json(given, { step: path, field: "input" });
    checkModel(recorder, path, model);
    const takes: string[] = [];
    for (let take = 0; take < (Number.isNaN(count) ? 1 : count); take++) {
      const before = takes.at(-1);
      const waits = options?.choose === "first" && before !== undefined;
      const when = waits ? { failed: before } : firstWhen;
      const step = part.path(take + 1);
      addJob(part, { path: step, model, input: planned, policy, after, when, seed: (seed + take) % SEEDS });
      bindRevise(part, step, read);
      takes.push(step);
    }
    const pick = part.path("pick");
    const among = takes.map((step): DraftReference => ({ $ref: { step, output: "all" } }));
    const choice = new OptionReader({ version: options?.version, message: options?.message }, path, recorder);
    addChoice(part, pick, among, { read: choice, by: options?.choose, field: "choose" });
    const { build } = recorder;
    const pointers = takes.map((step): StepPointer => ({ to: "step", step, output: "single", build }));
    return takesHandle(pick, yieldOf(model), { pointers, build, input: planned });
  };
}

function seedOf(input: unknown): number | null {
  const seed = typeof input === "object" && input !== null && "seed" in input ? input.seed : null;
  return typeof seed === "number" && Number.isSafeInteger(seed) && seed >= 0 ? seed : null;
}

/** Returns the FNV-1a hash of a text, for use as a seed. The same text gives the same seed on every machine. */
function hash(text: string): number {
  let found = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) found = Math.imul(found ^ text.charCodeAt(at), 0x01000193);
  return (found >>> 0) % SEEDS;
}

declare const KINDS: unique symbol;

type AnyInspector = Inspector<never>;

type InspectorOf<M extends ModelOrId> = Inspector<Extract<YieldOf<M>, MediaKind>>;

/**
 * Inspects an output file of a job. Returns a human-readable sentence that says what is wrong with the file, or null if
 * nothing is wrong. Any other value, such as `false`, fails the inspection. `showrunner/film` has inspectors, but any
 * function of this type works.
 */
export interface Inspector<K extends MediaKind = MediaKind> {
  (made: Candidate): Inspected | Promise<Inspected>;
  /** Exists only as a type. It records the kinds of media that the function can inspect. */
  readonly [KINDS]?: (kind: K) => void;
  /** The inspector's version. Change it when the inspection changes. Default `"1"`. */
  readonly version?: string | undefined;
  /** Checks whether this machine has what the inspector needs, before anything is paid for. */
  readonly requires?: Requirement | undefined;
  /**
   * Adds steps that inspect the output, instead of calling the inspector function. Use this for inspections that cost
   * money.
   */
  readonly addSteps?: ((steps: InspectingSteps, name: string, made: Handle) => InspectionSteps) | undefined;
}

/** The builder methods for adding the steps of an inspection. */
export interface InspectingSteps {
  readonly task: TaskMethod;
  readonly chat: ChatMethod;
  readonly choose: ChooseMethod;
}

/**
 * The steps of an inspection. `check` fails with {@link NotAcceptedError} if it rejects the output. `passed` is a handle
 * of the accepted output.
 */
export interface InspectionSteps {
  readonly check: Handle;
  readonly passed: Handle;
}

export type Inspected = string | readonly string[] | null | undefined;

/** Options for inspecting a job's output. `I` is the type of the inspectors that fit the model's output. */
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
type AcceptedHandle<Y extends Yields, I = unknown> = Omit<TakesHandle<Y, I>, "outputs">;

const ACCEPT_OPTIONS: readonly string[] = ["accept", "acceptAttempts"];

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

/**
 * Returns the reasons why an inspection rejected an output; empty if it accepted the output. `name` is the name of the
 * option, for error messages.
 */
export function reasonsIn(found: unknown, name: string): readonly string[] {
  if (found === null || found === undefined) return [];
  const reasons: readonly unknown[] = Array.isArray(found) ? found : [found];
  if (reasons.every(isReason)) return reasons;
  const other = reasons.find((reason) => !isReason(reason));
  // `true` and `false` must not mean that nothing was found. Otherwise, `(file) => file.width > 500` would accept every
  // file.
  throw new TypeError(
    `\`${name}\` must return null or a description of the problem, not ${other === found ? "" : "a list with "}${named(other)}`,
  );
}

const isReason = (reason: unknown): reason is string => typeof reason === "string" && reason !== "";

function named(value: unknown): string {
  if (value instanceof Error) return "an Error";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : value === "" ? '""' : String(value);
}

/** Adds the attempts `<name>/1`, `<name>/2` …, a check `<name>/N-ok` for each, and `<name>/pick`. */
function addAccepted<M extends ModelOrId>(
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

/**
 * Returns an attempt's input and seed. Later attempts get a seed of their own; the first keeps its input unchanged, so
 * that an earlier result can be reused.
 */
function seeded(input: DraftJson, attempt: number): { readonly input: DraftJson; readonly seed: number | null } {
  if (attempt === 1 || typeof input !== "object" || input === null || Array.isArray(input))
    return { input, seed: null };
  const { seed = 0, ...unseeded } = input as { readonly seed?: DraftJson };
  return typeof seed === "number" ? { input: unseeded, seed: seed + attempt - 1 } : { input, seed: null };
}

interface Job {
  readonly path: string;
  readonly model: ModelOrId;
  readonly input: DraftJson;
  readonly policy: StepPolicy;
  readonly after: readonly string[];
  readonly when: ReturnType<OptionReader["when"]>;
  readonly seed: number | null;
}

function addJob(recorder: Recorder, { model, ...job }: Job): void {
  recorder.add({ kind: "job", ...job, model: idOf(model) });
}

function checkModel({ report }: Recorder, step: string, model: ModelOrId | MissingModel | undefined): void {
  const say = (message: string) => report({ code: "unknown-model", step, field: "model", message });
  if (model instanceof MissingModel) {
    const { id, known } = model;
    const others = didYouMean(id, known) ?? `it has, for example, ${known.slice(0, 3).join(", ")}`;
    say(`models.ts has no model \`${id}\` (${others}). To update the file, run \`showrunner models pull\``);
  } else if (typeof model !== "string" && typeof model?.id !== "string") {
    const next = "use a model id, or a model from models.ts (which `showrunner models pull` writes)";
    say(`${model === undefined ? "undefined" : "the value given"} is not a model; ${next}`);
  }
}

function idOf(model: ModelOrId | undefined): string {
  return typeof model === "string" ? model : String(model?.id);
}

function yieldOf<M extends ModelOrId>(model: M): YieldOf<M> {
  return (typeof model === "string" ? "unknown" : (model?.yields ?? "unknown")) as YieldOf<M>;
}
