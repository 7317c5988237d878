import { thrownText } from "../kit/clean-text.ts";
import { isCallerError, ShowrunnerError } from "../kit/errors.ts";
import { FOR_CALLERS, type Problem } from "../plan/plan.ts";

/** A handle was used as text or as JSON during planning, when its result does not exist yet. */
export class HandleMisuseError extends ShowrunnerError {
  readonly code = "HANDLE_MISUSE";

  constructor(step: string) {
    super(
      `the result of ${step} does not exist during planning, so it cannot become text here; to use a value in a sentence, tag ` +
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

/** `include()` was given something that is not a pipeline, or a pipeline that includes itself endlessly. */
export class IncludeError extends ShowrunnerError {
  readonly code = "INCLUDE";
}

const LIBRARY = decoded(new URL("../..", import.meta.url).href.replace(/^file:\/\//, ""));

/** Decodes the path of a stack frame, which Node escapes but test runners do not. */
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
