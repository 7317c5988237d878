import type { z } from "zod";
import { didYouMean } from "../kit/lookup.ts";
import { fingerprint, misfitIn, plainJson } from "../plan/plain-json.ts";
import type { Draft, DraftJson, DraftStep, FailurePolicy, Json, Problem, Recorded } from "../plan/plan.ts";
import {
  callSite,
  checkInput,
  errorText,
  fieldPath,
  inputMistake,
  isStepName,
  PipelineDefinitionError,
  thrownProblem,
} from "./errors.ts";
import { pointerOf } from "./handle.ts";
import type { Profiles } from "./model.ts";
import { type Recorder, startRecording } from "./recorder.ts";
import type { Returns } from "./result.ts";
import { type ApproveMethod, approveMethod } from "./steps/approve.ts";
import { type ChatMethod, chatMethod } from "./steps/chat.ts";
import {
  type ChooseMethod,
  type CompareMethod,
  chooseMethod,
  compareMethod,
  type FirstOfMethod,
  firstOfMethod,
} from "./steps/choose.ts";
import { type ExpandMethod, expandMethod } from "./steps/expand.ts";
import { type GenerateMethod, generateMethod } from "./steps/generate.ts";
import { type IncludeMethod, includeMethod } from "./steps/include.ts";
import { type JobMethod, jobMethod, type TakesMethod, takesMethod } from "./steps/job.ts";
import { FAILURE_POLICIES, failurePolicy } from "./steps/options.ts";
import { type TaskMethod, taskMethod } from "./steps/task.ts";
import { type UploadMethod, uploadMethod } from "./steps/upload.ts";

/**
 * Marks an object as a pipeline. All copies of this module share the symbol, so that they recognize each other's
 * pipelines.
 */
const PIPELINE = Symbol.for("showrunner.pipeline");

/** A pipeline: a name, the schema of its input, and the function that adds its steps. */
export interface Pipeline<S extends z.ZodType = z.ZodType, R extends Returns = Returns> {
  readonly name: string;
  readonly input: S;
  /**
   * How a failed step affects other steps. A step's own policy takes precedence. Null means the default, `continue`.
   */
  readonly onFailure: FailurePolicy | null;
  /** Whether steps are skipped once no requested result can use them. A step's own setting takes precedence. */
  readonly prune: boolean;
  readonly profiles: Profiles;
  /** The author's statement that the people whose voices are cloned have agreed, or null. */
  readonly consent: string | null;
  /** Returns the title of a run with this input. If absent, lists show the run's id. */
  title?(input: z.output<S>): string;
  /** Adds the steps for a parsed input. Called once, when the plan is made. */
  build(builder: Builder<z.output<S>>): R;
}

export interface PipelineDefinition<S extends z.ZodType, R extends Returns> {
  /** zod schema of the input. */
  readonly input: S;
  /**
   * How a failed step affects other steps. `continue` skips the steps that use its result. `failFast` starts no more
   * steps. With `quorum(n)`, the run succeeds if n of the pipeline's results exist. Default `continue`.
   */
  readonly onFailure?: FailurePolicy | undefined;
  /**
   * If `false`, steps run even if no requested result can use them anymore. A step's own setting takes precedence.
   * Default `true`: such steps are skipped and not paid for.
   */
  readonly prune?: boolean | undefined;
  /**
   * Variants of the pipeline by name, for example `draft` with cheaper models or shorter films. See {@link Profile}.
   */
  readonly profiles?: Profiles | undefined;
  /**
   * A statement that the people whose voices are cloned have agreed, and how you know this. The manifest of every file
   * with such a voice includes the statement. A step's own `consent` takes precedence.
   */
  readonly consent?: string | undefined;
  /**
   * Returns the title of a run, for example the name of the advertised product. Lists show the title, and searches find
   * it. A title is one line of at most 120 characters. Longer titles are cut.
   */
  readonly title?: ((input: z.output<S>) => string) | undefined;
  /**
   * Adds the steps and returns the handles of the requested results. It must not be async, but may use loops and
   * conditionals.
   */
  build(builder: Builder<z.output<S>>): R;
}

/**
 * Defines a pipeline. Throws {@link PipelineDefinitionError} if the name is not a valid path segment, `input` is not a
 * zod schema, or `build` is not a function. The plan reports all other mistakes.
 */
export function pipeline<S extends z.ZodType, R extends Returns>(
  name: string,
  definition: PipelineDefinition<S, R>,
): Pipeline<S, R> {
  const refuse = (problem: string): never => {
    const site = callSite(new Error().stack);
    throw new PipelineDefinitionError(
      `pipeline ${JSON.stringify(name)}: ${problem}${site === null ? "" : ` (at ${site})`}`,
    );
  };
  if (!isStepName(name))
    refuse('its name may contain letters, digits, ".", "_" and "-", and must begin with a letter or digit');
  const { input } = definition;
  if (typeof input?.safeParse !== "function") refuse("`input` must be a zod schema, such as z.object({})");
  if (typeof definition.build !== "function") refuse("`build` must be a function that returns handles");
  const onFailure = definition.onFailure === undefined ? null : failurePolicy(definition.onFailure);
  if (definition.onFailure !== undefined && onFailure === null) refuse(FAILURE_POLICIES);
  const { profiles = {}, consent = null, title, prune = true } = definition;
  if (typeof prune !== "boolean") refuse("`prune` must be true or false");
  if (title !== undefined && typeof title !== "function")
    refuse("`title` must be a function that takes the input and returns a string");
  const build: Pipeline<S, R>["build"] = (builder) => definition.build(builder);
  const created: Pipeline<S, R> = { name, input, onFailure, prune, profiles, consent, ...(title && { title }), build };
  Object.defineProperty(created, PIPELINE, { value: true });
  return Object.freeze(created);
}

export function isPipeline(value: unknown): value is Pipeline {
  return typeof value === "object" && value !== null && PIPELINE in value;
}

export function record(pipeline: Pipeline, input: unknown): Recorded {
  const recording = startRecording({ prune: pipeline.prune });
  let returns: DraftJson = {};
  try {
    const returned: unknown = pipeline.build({ input, ...stepMethods(recording) });
    returns = readReturns(returned, recording);
  } catch (error) {
    recording.report(buildFailed(error));
  } finally {
    recording.close();
  }
  const { steps, problems, functions, groups, parts } = recording;
  return { steps, problems, returns, functions, groups, parts, onFailure: pipeline.onFailure ?? null };
}

function buildFailed(error: unknown): Problem {
  // Some AI SDK providers read their key as soon as a model is created.
  const isKey = error instanceof Error && error.name === "AI_LoadAPIKeyError";
  const hint = isKey ? "; with --local the key does not have to be valid, so any text will do" : "";
  const message = `\`build\` threw an error: ${errorText(error)}${hint}`;
  return thrownProblem(error, { code: "build", step: null, field: null, message });
}

function readReturns(returned: unknown, recorder: Recorder): DraftJson {
  const bad = (message: string, field: string | null = null) =>
    recorder.report({ code: "bad-return", step: null, field, message });
  const isRecord = typeof returned === "object" && returned !== null && !Array.isArray(returned);
  if (returned instanceof Promise) {
    // A rejection of the async build must not end the process.
    returned.catch(() => undefined);
    bad(
      "`build` is async, but it must add all steps synchronously; read files and fetch data beforehand, and pass the results as input",
    );
    return {};
  }
  if (!isRecord || pointerOf(returned) !== null) {
    bad("`build` must return its results by name, such as { video }");
    return {};
  }
  checkReturned(returned, "returns", bad);
  return recorder.json(returned, { step: null, field: "returns" });
}

function checkReturned(value: unknown, field: string, bad: (message: string, field: string) => void): void {
  const pointer = pointerOf(value);
  if (pointer?.to === "step" || pointer?.to === "several") return;
  if (pointer?.to === "text" || pointer?.to === "input")
    return bad(`${field} is text, not the result of a step; return it from a task instead`, field);
  if (pointer !== null) return bad(`${field} is an existing asset, not the result of a step`, field);
  if (typeof value !== "object" || value === null) return bad(`${field} is not the handle of a step`, field);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkReturned(item, `${field}[${index}]`, bad);
    return;
  }
  for (const [name, item] of Object.entries(value)) {
    if (!isStepName(name))
      bad(`${JSON.stringify(name)} cannot be a file name; use letters, digits, ".", "_" and "-"`, field);
    if (item !== undefined) checkReturned(item, `${field}.${name}`, bad);
  }
}

export interface Drafted {
  readonly draft: Draft | null;
  readonly problems: Problem[];
}

/** Parses the input and runs `build`. Mistakes are returned, not thrown. */
export function draft(pipeline: Pipeline, input: unknown): Drafted {
  const unusable = misfits(input);
  if (unusable.length > 0) return { draft: null, problems: unusable };
  const parsed = parse(pipeline, input);
  const misnamed = misnamedIn(pipeline, input);
  if ("problems" in parsed) return { draft: null, problems: [...misnamed, ...parsed.problems] };
  if (misnamed.length > 0) return { draft: null, problems: misnamed };
  const tooDeep = misfits(parsed.value, true);
  if (tooDeep.length > 0) return { draft: null, problems: tooDeep };
  const titled = titleOf(pipeline, parsed.value);
  if ("problem" in titled) return { draft: null, problems: [titled.problem] };
  const recorded = record(pipeline, parsed.value);
  const parsedInput = plainJson(parsed.value);
  return { draft: { pipeline: pipeline.name, ...titled, parsedInput, ...recorded }, problems: [] };
}

/** Builds the draft of a stored run. Parses the input again, which restores dates and adds new default values. */
export function redraft(pipeline: Pipeline, parsedInput: Json): Draft {
  const parsed = parse(pipeline, parsedInput);
  const input = "problems" in parsed ? parsedInput : asBefore(parsed.value, parsedInput);
  return { pipeline: pipeline.name, parsedInput, ...record(pipeline, input) };
}

/** Like {@link redraft}, but changes input fields first. Objects are merged, and other values are replaced. */
export function corrected(pipeline: Pipeline, parsedInput: Json, changes: Json): Drafted {
  const unusable = misfits(changes);
  if (unusable.length > 0) return { draft: null, problems: unusable };
  const wanted = merged(parsedInput, changes);
  const parsed = parse(pipeline, wanted);
  // The schema may reject fields that it parsed before, because a transform may have changed them.
  const refused = "problems" in parsed ? parsed.problems.filter(({ field }) => isOf(changes, field)) : [];
  const refusals = [...misnamedIn(pipeline, changes), ...refused];
  if (refusals.length > 0) return { draft: null, problems: refusals };
  const input = "problems" in parsed ? wanted : asBefore(parsed.value, parsedInput, changes);
  const recorded = record(pipeline, input);
  return { draft: { pipeline: pipeline.name, parsedInput: plainJson(input), ...recorded }, problems: [] };
}

export function outdatedInput(pipeline: Pipeline, parsedInput: Json): readonly Problem[] {
  const parsed = parse(pipeline, parsedInput);
  if ("value" in parsed) return [];
  const outdated = parsed.problems.filter((_, index) => {
    const path = parsed.paths[index];
    return path !== undefined && isPlainAt(pipeline.input, path, parsedInput);
  });
  return outdated.map((problem) => {
    return { ...problem, message: `${problem.message}; set it with: -i ${problem.field?.slice(6)}=VALUE` };
  });
}

/**
 * Reports a value that is nested too deeply, or a number that is not finite. Runs before the schema and `build`,
 * because a deeply nested value would make them overflow the stack.
 */
function misfits(input: unknown, anyNumber = false): Problem[] {
  const misfit = misfitIn(input, anyNumber);
  if (misfit === null) return [];
  return [{ code: "input", step: null, field: fieldPath("input", misfit.path), message: misfit.message }];
}

function isOf(changes: Json, field: string | null): boolean {
  const name = /^input\.([^.[]+)/.exec(field ?? "")?.[1];
  return name === undefined || !isRecord(changes) || Object.hasOwn(changes, name);
}

function merged(before: Json, changes: Json): Json {
  if (!isRecord(before) || !isRecord(changes)) return changes;
  const entries = Object.entries(changes as { readonly [key: string]: Json });
  const fields = before as { readonly [key: string]: Json };
  return {
    ...fields,
    ...Object.fromEntries(
      entries.map(([key, value]) => [key, Object.hasOwn(fields, key) ? merged(fields[key]!, value) : value]),
    ),
  };
}

function titleOf(pipeline: Pipeline, input: unknown): { readonly title?: string } | { readonly problem: Problem } {
  if (pipeline.title === undefined) return {};
  const bad = (message: string) => ({ code: "title", step: null, field: null, message });
  try {
    const text: unknown = pipeline.title(input);
    return typeof text === "string" ? { title: text } : { problem: bad("`title` did not return a string") };
  } catch (error) {
    return { problem: thrownProblem(error, bad(`\`title\` threw an error: ${errorText(error)}`)) };
  }
}

/**
 * Returns `now` with all unchanged values taken from `before`, because parsing a value again may transform it again.
 */
function asBefore(now: unknown, before: Json, changes: Json = {}): unknown {
  if (fingerprint(plainJson(now)) === fingerprint(before)) return now;
  if (!isRecord(changes)) return now;
  if (!isRecord(now) || !isRecord(before)) return Object.keys(changes).length > 0 ? now : before;
  const entries = Object.entries(now);
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (!Object.hasOwn(before, key)) return [key, value];
      const change = Object.hasOwn(changes, key) ? (changes[key] as Json) : {};
      return [key, asBefore(value, before[key] as Json, change)];
    }),
  );
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function misnamedIn({ input: schema }: Pipeline, input: unknown): Problem[] {
  return unknownFields(schema, input).map((misnamed) => ({ code: "input", step: null, ...misnamed }));
}

type Parsed =
  | { readonly value: unknown }
  | { readonly problems: Problem[]; readonly paths: readonly (readonly PropertyKey[])[] };

function parse(pipeline: Pipeline, input: unknown): Parsed {
  try {
    const parsed = checkInput(pipeline.input, input);
    if (parsed.success) return { value: parsed.data };
    const { issues } = parsed.error;
    const problems = issues.map((issue): Problem => ({ code: "input", step: null, ...inputMistake(issue) }));
    return { problems, paths: issues.map(({ path }) => path) };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    // `instanceof` would fail if the schema comes from another copy of zod.
    const isAsync = error instanceof Error && error.constructor.name === "$ZodAsyncError";
    const cure = isAsync ? "; refinements and transforms cannot be async" : "";
    const message = `the input schema of ${pipeline.name} threw an error: ${text}${cure}`;
    const problem = thrownProblem(error, { code: "input-schema", step: null, field: null, message });
    return { problems: [problem], paths: [] };
  }
}

interface Misnamed {
  readonly field: string;
  readonly message: string;
}

/**
 * The parts of a zod definition that this module reads. They are declared here instead of being imported from zod,
 * because the schema may come from another copy of zod.
 */
interface Definition {
  readonly type: string;
  readonly shape?: { readonly [field: string]: z.ZodType };
  readonly catchall?: unknown;
  readonly element?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
}

/** Finds fields that the schema lacks, because zod would silently drop a misspelled optional field. */
function unknownFields(
  schema: z.ZodType,
  value: unknown,
  path: readonly (string | number)[] = [],
): readonly Misnamed[] {
  const definition = (schema as { readonly _zod?: { readonly def: unknown } })._zod?.def as Definition | undefined;
  const { shape, catchall, element } = definition ?? {};
  const inner = definition?.type === "pipe" ? definition.in : definition?.innerType;
  if (inner !== undefined) return unknownFields(inner, value, path);
  if (Array.isArray(value) && element !== undefined)
    return value.flatMap((item, index) => unknownFields(element, item, [...path, index]));
  if (shape === undefined || typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field !== undefined) return unknownFields(field, one, [...path, key]);
    if (catchall !== undefined) return [];
    const names = Object.keys(shape);
    const hint =
      didYouMean(key, names) ?? (names.length === 0 ? "it has no fields" : `its fields are ${names.join(", ")}`);
    return [{ field: fieldPath("input", [...path, key]), message: `the input has no such field; ${hint}` }];
  });
}

const PLAIN = new Set(["string", "number", "boolean", "enum", "literal", "null", "object", "array"]);

/** Returns whether the schema has no transform at this path, so that parsing leaves the value unchanged. */
function isPlainAt(schema: z.ZodType, path: readonly PropertyKey[], value: unknown): boolean {
  const definition = (schema as { readonly _zod?: { readonly def: unknown } })._zod?.def as Definition | undefined;
  if (value === undefined) return true;
  if (definition?.innerType !== undefined) return isPlainAt(definition.innerType, path, value);
  if (definition === undefined || !PLAIN.has(definition.type)) return false;
  const [key, ...rest] = path;
  if (key === undefined) return true;
  if (typeof value !== "object" || value === null) return false;
  const within = Array.isArray(value) ? definition.element : definition.shape?.[String(key)];
  return within !== undefined && isPlainAt(within, rest, (value as { readonly [key: PropertyKey]: unknown })[key]);
}

/** The methods of a builder that add steps. */
export interface StepMethods {
  /** Adds a paid job that runs a model. */
  readonly job: JobMethod;
  /** Adds a file that is sent to the service. */
  readonly upload: UploadMethod;
  /** Adds a paid request to a chat model. */
  readonly chat: ChatMethod;
  /** Adds a local function of your own. */
  readonly task: TaskMethod;
  /** Adds a paid request to another provider, through its AI SDK model. */
  readonly generate: GenerateMethod;
  /** Adds a pause for a person's approval. */
  readonly approve: ApproveMethod;
  /** Adds a step that chooses one of several results. */
  readonly choose: ChooseMethod;
  /** Adds several takes of a job and a step that chooses one of them. */
  readonly takes: TakesMethod;
  /** Adds several options in order: each starts only if all options before it have failed or are taking too long. */
  readonly firstOf: FirstOfMethod<StepMethods>;
  /** Adds the same work once per model, and a step that chooses one of the results. */
  readonly compare: CompareMethod<StepMethods>;
  /** Adds steps that depend on a value known only during the run, for example one step for each item of a list. */
  readonly expand: ExpandMethod<StepMethods>;
  /** Adds the steps of another pipeline. */
  readonly include: IncludeMethod<StepMethods>;
}

/** The argument of `build`: the parsed input, and the methods that add steps. */
export interface Builder<I> extends StepMethods {
  readonly input: I;
}

/** Names of the builder methods, one for each kind of step. If a kind has no method, the code does not compile. */
type MethodName = Exclude<DraftStep["kind"], "pick"> | "choose";

function stepMethods(recorder: Recorder): StepMethods & Pick<StepMethods, MethodName> {
  return {
    job: jobMethod(recorder),
    upload: uploadMethod(recorder),
    chat: chatMethod(recorder),
    task: taskMethod(recorder),
    generate: generateMethod(recorder),
    approve: approveMethod(recorder),
    choose: chooseMethod(recorder),
    takes: takesMethod(recorder),
    firstOf: firstOfMethod(recorder, stepMethods),
    compare: compareMethod(recorder, stepMethods),
    expand: expandMethod(recorder, stepMethods),
    include: includeMethod(recorder, stepMethods),
  };
}
