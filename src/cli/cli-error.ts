export const ExitCode = {
  done: 0,
  /** A run or a request failed. */
  failed: 1,
  /** Nothing was submitted, because of a usage error, an invalid plan or a budget that is too small. */
  refused: 2,
  /** The run paused, partly failed, or was charged more than its budget. */
  unfinished: 3,
  interrupted: 130,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

export type CliErrorCode =
  | "USAGE"
  | "PIPELINE_FILE_MISSING"
  | "PIPELINE_FILE_INVALID"
  | "PIPELINE_FILE_FAILED"
  | "PIPELINE_NOT_FOUND"
  | "CODE_ELSEWHERE"
  | "INPUT_INVALID"
  | "BUDGET_NEEDED"
  | "RUN_INTERRUPTED"
  | "UNKNOWN_OUTCOME"
  | "NOT_CONFIRMED";

export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: CliErrorCode;
  readonly next: string;
  readonly exitCode: ExitCode;

  constructor(
    code: CliErrorCode,
    message: string,
    options: { readonly next: string; readonly exitCode?: ExitCode; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.next = options.next;
    this.exitCode = options.exitCode ?? ExitCode.refused;
  }
}

export function usageError(message: string, next: string, cause?: unknown): CliError {
  return new CliError("USAGE", message, { next, cause });
}
