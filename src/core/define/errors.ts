import type { z } from "zod";
import { thrownText } from "../kit/clean-text.ts";
import { isCallerError, ShowrunnerError } from "../kit/errors.ts";
import { didYouMean, own } from "../kit/lookup.ts";
import { kindOfValue, shown, typeWords, valueText } from "../kit/value-text.ts";
import type { Problem } from "../plan/plan.ts";
import { FOR_CALLERS } from "../plan/step.ts";

/** A handle was used as text or as JSON during planning, before its result existed. */
export class HandleMisuseError extends ShowrunnerError {
  readonly code = "HANDLE_MISUSE";

  constructor(step: string) {
    super(
      `the result of ${step} does not exist yet during planning, so it cannot be used as a string here; to use it in text, tag ` +
        `the template with text (text\`A \${…}\`, import { text } from "showrunner"), ` +
        "or pass the handle itself as a field of another step's input",
    );
  }
}

/** `pipeline()` was called with an invalid definition. */
export class PipelineDefinitionError extends ShowrunnerError {
  readonly code = "PIPELINE_DEFINITION";
}

/** `job()` or another builder method was called after `build` had returned. */
export class BuilderClosedError extends ShowrunnerError {
  readonly code = "BUILDER_CLOSED";

  constructor(step: string) {
    super(
      `step ${step} was added after build returned; add every step inside build, which must not be async; ` +
        "inside expand, use the builder that is passed to its callback",
    );
  }
}

/** `include()` was given something that is not a pipeline, or a pipeline that includes itself, directly or through another one. */
export class IncludeError extends ShowrunnerError {
  readonly code = "INCLUDE";
}

const LIBRARY = decoded(new URL("../..", import.meta.url).href.replace(/^file:\/\//, ""));

/** Decodes the path of a stack frame. Node escapes such paths, but test runners do not. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Returns the place in the user's code (`file:line:column`) where an error was thrown, or null. */
export function callSite(stack: string | undefined): string | null {
  for (const line of (stack ?? "").split("\n")) {
    const found = /^\s+at (?:.*\()?(?:file:\/\/)?(\/[^()]*|[A-Za-z]:[^()]*):(\d+):(\d+)\)?$/.exec(line);
    const [, path = "", row, column] = found ?? [];
    const file = decoded(path.replace(/\?.*$/, ""));
    if (found === null || file.startsWith(LIBRARY) || file.includes("/node_modules/")) continue;
    return `${file}:${row}:${column}`;
  }
  return null;
}

export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return thrownText(error);
  const site = callSite(error.stack);
  return site === null ? error.message : `${error.message} (at ${site})`;
}

export function thrownProblem(error: unknown, otherwise: Problem): Problem {
  return isCallerError(error) ? { ...otherwise, code: FOR_CALLERS, message: error.message } : otherwise;
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]{0,99}$/u;

export function isStepName(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

export function stepNameProblem(name: unknown): Problem | null {
  if (isStepName(name)) return null;
  const shown = JSON.stringify(name) ?? String(name);
  const message = `${shown} is not a valid step name: use 1 to 100 letters, digits, ".", "_" or "-", beginning with a letter or digit`;
  const better = suggestion(name);
  const hint = better === null ? "" : `; for example ${JSON.stringify(better)}`;
  return { code: "bad-step-name", step: String(name), field: null, message: message + hint };
}

function suggestion(name: unknown): string | null {
  const better = String(name)
    .replace(/[^\p{L}\p{N}\p{M}._-]+/gu, "-")
    .replace(/^[^\p{L}\p{N}]+/u, "")
    .replace(/-+$/, "")
    .slice(0, 100);
  return isStepName(better) ? better : null;
}

export function fieldPath(root: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
    root,
  );
}

export function checkInput<S extends z.ZodType>(schema: S, input: unknown): z.ZodSafeParseResult<z.output<S>> {
  return schema.safeParse(input, { error: messageOf });
}

export function inputMistake({ path, message }: Pick<z.core.$ZodIssue, "path" | "message">) {
  return { field: fieldPath("input", path), message };
}

const JSON_TYPES: Readonly<Record<string, string>> = { int: "integer", record: "object", tuple: "array" };
const FORMATS: Readonly<Record<string, string>> = { url: "URL", email: "email address", uuid: "UUID" };

function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { input: value } = issue;
  const given = valueText(value);
  switch (issue.code) {
    case "invalid_type":
      if (value === undefined) return `is missing; give ${typeText(issue.expected)}`;
      return `must be ${typeText(issue.expected)}, not ${typeof value === "number" ? given : kindOfValue(value)}`;
    case "invalid_value":
      return notAccepted(issue.values, value);
    case "too_small":
      return outOfBounds(issue.inclusive === false ? "more than" : "at least", issue.minimum, issue);
    case "too_big":
      return outOfBounds(issue.inclusive === false ? "less than" : "at most", issue.maximum, issue);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}, not ${given}`;
    case "invalid_format":
      if (issue.format === "starts_with") return `must start with ${shown(issue.prefix)}; got ${given}`;
      if (issue.format === "ends_with") return `must end with ${shown(issue.suffix)}; got ${given}`;
      if (issue.format === "includes") return `must contain ${shown(issue.includes)}; got ${given}`;
      if (issue.format === "regex") return `must match the pattern ${issue.pattern}; got ${given}`;
      return own(FORMATS, issue.format) && `${given} is not a valid ${FORMATS[issue.format]}`;
    case "unrecognized_keys":
      return `does not accept the field${issue.keys.length === 1 ? "" : "s"} ${issue.keys.map((key) => `"${key}"`).join(", ")}`;
    case "invalid_union": {
      const { options, discriminator } = issue;
      if (Array.isArray(options))
        return notAccepted(options, (value as Record<string, unknown>)[String(discriminator)]);
      return value === undefined ? "is missing" : `${given} is not a valid value`;
    }
    case "custom":
      return `${given} is not a valid value`;
    default:
      return undefined;
  }
}

function typeText(type: string): string {
  const name = own(JSON_TYPES, type) ?? type;
  const words = typeWords([name]);
  return words === name ? `a value of type ${name}` : words;
}

function notAccepted(values: readonly unknown[], value: unknown): string {
  const accepted = values.map(String);
  const list = accepted.length === 1 ? accepted[0] : `one of ${accepted.join(", ")}`;
  if (value === undefined) return `is missing; use ${list}`;
  if (accepted.length === 1) return `must be ${list}, not ${shown(value)}`;
  const hint = typeof value === "string" ? didYouMean(value, accepted) : null;
  return `${shown(value)} is not ${list}${hint === null ? "" : `; ${hint}`}`;
}

const UNITS: Readonly<Record<string, string>> = { string: "character", array: "item", set: "item", map: "entry" };

function outOfBounds(
  relation: string,
  limit: number | bigint,
  { input, origin, exact }: { readonly input?: unknown; readonly origin: string; readonly exact?: boolean | undefined },
): string {
  const bound = `${exact ? "exactly" : relation} ${limit}`;
  const unit = own(UNITS, origin);
  if (unit === undefined) return `must be ${bound}, not ${shown(input)}`;
  const { length, size = length } = input as { readonly length?: number; readonly size?: number };
  return `has ${size} ${unit}${size === 1 ? "" : "s"}; ${bound} are ${relation === "at most" ? "allowed" : "needed"}`;
}
