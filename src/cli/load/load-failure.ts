import { relative } from "node:path";
import { CliError } from "../cli-error.ts";
import { visible, visibleLines } from "../text/escape.ts";
import { codeFrame, importFrame } from "./code-frame.ts";

/** Turns whatever importing a pipeline file threw into an error that says what to do. */
export function loadFailure(cause: unknown, file: string, cwd: string): CliError {
  const name = visible(relative(cwd, file) || file);
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const code = (error as NodeJS.ErrnoException).code;
  const said = visible(error.message);
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
    return invalid(
      `${name} uses TypeScript that Node cannot run as it is: ${said}${codeFrame(error)}`,
      "write it without enums, namespaces and parameter properties, or: npm install -D tsx && NODE_OPTIONS='--import tsx' npx showrunner …",
      cause,
    );
  }
  if (error instanceof SyntaxError) {
    return invalid(`${name} does not compile: ${said}${codeFrame(error)}`, "correct the file and try again", cause);
  }
  if (code === "ERR_MODULE_NOT_FOUND" || code === "ERR_PACKAGE_PATH_NOT_EXPORTED") {
    const missing =
      /(?:Cannot find (?:package|module)|Package subpath) '([^']+)'/.exec(error.message)?.[1] ?? "a module";
    const message = `${name} imports ${visible(missing)}, which cannot be found${importFrame(error)}`;
    return invalid(message, importAdvice(missing), cause);
  }
  if (code === "RUN_WHILE_LOADING") {
    const next = `put that part behind if (import.meta.main) { … }: node ${name} runs it then, and showrunner only reads the file`;
    return failed(`${name}: ${said}${codeFrame(error)}`, next, cause);
  }
  // Problems of a plan stand on lines of their own; any other message is the user's own text.
  const message = code === "PLAN_PROBLEMS" ? visibleLines(error.message) : said;
  return failed(
    `${name} threw while it was loaded: ${message}${codeFrame(error)}`,
    "correct the file and try again",
    cause,
  );
}

/** Of a file whose top-level `await` waits for what never comes. */
export function neverLoaded(file: string, cwd: string, waited: string): CliError {
  const name = visible(relative(cwd, file) || file);
  return failed(
    `${name} was not loaded: an await at its top level, or at that of a file it imports, never ends ${waited}`,
    "move what it waits for into a task, or give it an end, and try again",
    undefined,
  );
}

function invalid(message: string, next: string, cause: unknown): CliError {
  return new CliError("PIPELINE_FILE_INVALID", message, { next, cause });
}

function failed(message: string, next: string, cause: unknown): CliError {
  return new CliError("PIPELINE_FILE_FAILED", message, { next, cause });
}

function importAdvice(missing: string): string {
  const isFile = /^[./]|^file:/.test(missing);
  return isFile
    ? "check the import; relative imports need their ending, e.g. ./models.ts"
    : `npm install ${visible(missing)}`;
}
