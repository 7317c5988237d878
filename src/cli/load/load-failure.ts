import { relative } from "node:path";
import { CliError } from "../cli-error.ts";
import { visible, visibleLines } from "../text/escape.ts";

/** Turns whatever importing a pipeline file threw into an error that says what to do. */
export function loadFailure(cause: unknown, file: string, cwd: string): CliError {
  const name = visible(relative(cwd, file) || file);
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
    return invalid(
      `${name} uses TypeScript that Node cannot run as it is: ${visible(error.message)}\n${place(error)}`,
      "write it without enums, namespaces and parameter properties, or: npm install -D tsx && NODE_OPTIONS='--import tsx' npx showrunner …",
      cause,
    );
  }
  if (error instanceof SyntaxError) {
    return invalid(
      `${name} does not compile: ${visible(error.message)}\n${place(error)}`,
      "correct the file and try again",
      cause,
    );
  }
  if (code === "ERR_MODULE_NOT_FOUND" || code === "ERR_PACKAGE_PATH_NOT_EXPORTED") {
    const missing =
      /(?:Cannot find (?:package|module)|Package subpath) '([^']+)'/.exec(error.message)?.[1] ?? "a module";
    return invalid(`${name} imports ${visible(missing)}, which cannot be found`, importAdvice(missing), cause);
  }
  return new CliError(
    "PIPELINE_FILE_FAILED",
    `${name} threw while it was loaded: ${visible(error.message)}\n${place(error)}`,
    { next: "correct the file and try again", cause },
  );
}

function invalid(message: string, next: string, cause: unknown): CliError {
  return new CliError("PIPELINE_FILE_INVALID", message, { next, cause });
}

function importAdvice(missing: string): string {
  const isFile = /^[./]|^file:/.test(missing);
  return isFile
    ? "check the import; relative imports need their ending, e.g. ./models.ts"
    : `npm install ${visible(missing)}`;
}

/** The first lines of the stack that stand before or in the user's own code: file, line, caret. */
function place(error: Error): string {
  const lines = (error.stack ?? "").split("\n");
  const header = lines.findIndex((line) => line.startsWith(error.name));
  const frame =
    header > 0 ? lines.slice(0, header) : lines.filter((line) => /^\s+at .*file:\/\//.test(line)).slice(0, 1);
  return visibleLines(
    frame
      .filter((line) => line.trim() !== "")
      .map((line) => `  ${line.trimEnd()}`)
      .join("\n"),
  );
}
