import { redactUrls } from "../core/kit/clean-text.ts";
import { formatUsd } from "../core/kit/money.ts";
import { own } from "../core/kit/own.ts";
import { CliError, ExitCode } from "./cli-error.ts";
import { codeFrame } from "./load/code-frame.ts";
import { visible, visibleLines } from "./text/escape.ts";
import { repeatedCommand } from "./text/next-line.ts";

/** What the system says of a path, and what helps. */
const meanings: Readonly<Record<string, readonly [meaning: string, next: string]>> = {
  ENOENT: ["does not exist, or is a link that leads nowhere", "check the path, then repeat the command"],
  EEXIST: ["exists already, and is not a folder", "name another path, or move it away"],
  ENOTDIR: ["leads through something that is not a folder", "name another path, or move what is in the way"],
  EISDIR: ["is a folder, where a file is needed", "name a file"],
  ELOOP: ["is a link that leads back to itself", "remove the link, or name another path"],
  ENAMETOOLONG: ["has a name that is too long for this file system", "name a shorter path"],
  EACCES: ["may not be used by this user", "change its permissions, or name another path"],
  EPERM: ["may not be changed by this user", "change its permissions, or name another path"],
  EROFS: ["lies on a disk that is read-only", "make it writable, or name another path"],
  ENOSPC: ["lies on a disk that is full", "free space, then repeat the command"],
  EDQUOT: ["lies on a disk whose quota is used up", "free space, then repeat the command"],
  EMFILE: ["could not be opened: too many files are open", "raise the limit (ulimit -n), then repeat the command"],
  EBUSY: ["is in use by another program", "close that program, then repeat the command"],
  EIO: ["could not be read or written: the disk failed", "check the disk, then repeat the command"],
};

/** An error of the system about a path: of the machine that this runs on, not of the program. */
export function isFileSystemError(error: Error): error is NodeJS.ErrnoException {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  return typeof code === "string" && Object.hasOwn(meanings, code) && (path !== undefined || syscall === "write");
}

/** The path, what is the matter with it, and what to do. */
export function fileSystemError({ code = "", path, syscall = "" }: NodeJS.ErrnoException) {
  const [meaning, next] = meanings[code]!;
  const message = `${path === undefined ? "What was to be written" : visible(path)} ${meaning} (${code}, ${syscall})`;
  return { message, next, exitCode: ExitCode.failed };
}

export interface Explanation {
  readonly code: string;
  readonly message: string;
  /** The command to type next. */
  readonly next: string;
  readonly exitCode: ExitCode;
}

export interface ErrorContext {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What was typed, where it can be typed again with more. */
  readonly args?: readonly string[] | null;
}

type Advice = readonly [exitCode: ExitCode, next: string];

/** What to do about the errors that a library call throws; those not named here failed for good (exit 1). */
const advice: Readonly<Record<string, Advice>> = {
  PLAN_PROBLEMS: [ExitCode.refused, "correct them and try again; `showrunner plan` checks without spending"],
  OVER_BUDGET: [ExitCode.refused, "give a larger --budget, or ask for less; `showrunner plan` shows the prices"],
  QUOTE_REFUSED: [ExitCode.refused, "`showrunner plan` shows the prices of now, and their quote"],
  WALLET_SHORT: [ExitCode.refused, "add funds, then repeat the command; --start-anyway goes as far as the wallet does"],
  RUN_EXISTS: [ExitCode.refused, "showrunner resume {run}   (or choose another --id)"],
  RUN_DIFFERS: [ExitCode.refused, "choose another --id"],
  RUN_UNKNOWN: [ExitCode.refused, "showrunner runs   (--journal FILE names another journal)"],
  RUN_BUSY: [ExitCode.failed, "showrunner events {run} --follow   (another process is running it)"],
  ACCOUNT_MISMATCH: [
    ExitCode.refused,
    "set SHOWRUNNER_BASE_URL and SHOWRUNNER_API_KEY to those the run was started with; for the same account under a new key or address: showrunner resume {run} --account-moved",
  ],
  INVALID_OPTION: [ExitCode.refused, "showrunner doctor"],
  INVALID_ARGUMENT: [ExitCode.failed, "correct what is named; `showrunner models show MODEL` has what a model takes"],
  UNAUTHORIZED: [
    ExitCode.failed,
    "check SHOWRUNNER_API_KEY, or the named service's own variable (<key_id>:<secret>), then: showrunner doctor",
  ],
  INSUFFICIENT_BALANCE: [ExitCode.unfinished, "showrunner balance"],
  LOCAL_SERVICE_MISSING: [ExitCode.refused, "showrunner doctor"],
  PORT_IN_USE: [ExitCode.refused, "showrunner serve --port 0   (takes a free one)"],
  DATA_DIR_IN_USE: [ExitCode.refused, "showrunner serve --data OTHER-FOLDER   (or use the service that is running)"],
  DATA_DIR_UNUSABLE: [ExitCode.refused, "showrunner serve --data OTHER-FOLDER"],
  OPTION_INVALID: [ExitCode.refused, "showrunner serve --help"],
  FAMILIES_INVALID: [ExitCode.refused, "correct the file after --families, or in SHOWRUNNER_FAMILIES"],
  CATALOG_INVALID: [ExitCode.refused, "correct the file after --catalog"],
  RECORDING_UNUSABLE: [ExitCode.refused, "showrunner record OTHER-FOLDER"],
  JOURNAL_NOT_A_JOURNAL: [ExitCode.refused, "name another journal: --journal FILE, or SHOWRUNNER_JOURNAL"],
  JOURNAL_FOLDER: [ExitCode.refused, "make it a folder that can be written to, then repeat the command"],
  JOURNAL_READ_ONLY: [
    ExitCode.refused,
    "make it writable, or name a copy of it with --journal FILE, then repeat the command",
  ],
  JOURNAL_NEWER_VERSION: [ExitCode.refused, "update Showrunner, then repeat the command"],
  JOURNAL_CORRUPT: [ExitCode.failed, "restore the journal from a copy; in a new one everything would be paid again"],
  JOURNAL_ILLEGAL_EVENT: [
    ExitCode.failed,
    "restore the journal from a copy; in a new one everything would be paid again",
  ],
  // A run may have spent: another journal would pay for everything again.
  JOURNAL_DISK_FULL: [
    ExitCode.unfinished,
    "free space, then repeat the command; a run that had started continues with showrunner resume",
  ],
  JOURNAL_IO: [
    ExitCode.unfinished,
    "check the disk, then repeat the command; a run that had started continues with showrunner resume",
  ],
  JOURNAL_ACCESS: [ExitCode.refused, "correct it, then repeat the command"],
  JOURNAL_UNREACHABLE: [
    ExitCode.unfinished,
    "see that the database answers, then repeat the command; a run that had started continues with showrunner resume",
  ],
  JOURNAL_BUSY: [ExitCode.failed, "repeat the command once the other process is through"],
  MEDIA_LOST: [ExitCode.unfinished, "showrunner resume {run}"],
  MEDIA_FOLDER: [ExitCode.refused, "make it a folder that can be written to, then repeat the command"],
  ENGINE_UNAVAILABLE: [
    ExitCode.failed,
    "start restate-server, or say with --engine-url where it is; then the same command",
  ],
  CONNECTION_FAILED: [ExitCode.failed, "check SHOWRUNNER_BASE_URL and the network, then: showrunner doctor"],
};

/** Any thrown value as message, next command and exit code. */
export function explainError(error: unknown, { env = {}, args = null }: ErrorContext = {}): Explanation {
  if (error instanceof CliError) {
    const { code, message, next, exitCode } = error;
    return { code, message, next, exitCode };
  }
  if (!(error instanceof Error)) return bug(String(error));
  const {
    code,
    runId,
    next: given,
  } = error as Error & {
    code?: unknown;
    runId?: string;
    next?: string | null;
  };
  if (isFileSystemError(error)) {
    const fileError = fileSystemError(error);
    return { ...fileError, code: error.code!, message: fileError.message + codeFrame(error) };
  }
  if (isUnexpected(error) || typeof code !== "string")
    return bug(error.message + codeFrame(error), env.SHOWRUNNER_DEBUG ? error.stack : undefined);
  const [exitCode, next] = own(advice, code) ?? ([ExitCode.failed, "showrunner doctor"] as const);
  const list = detailList(error);
  const generic = code === "INVALID_OPTION" && args?.[0] !== undefined ? `showrunner ${args[0]} --help` : next;
  const say = given ? visibleLines(given) : (retyped(error, args) ?? generic.replace("{run}", runId ?? "<run-id>"));
  return { code, message: visibleLines(redactUrls(error.message)) + list, next: say, exitCode };
}

/** Which fields the service refused, and why. */
function detailList(error: object): string {
  const details = "details" in error && Array.isArray(error.details) ? error.details : [];
  return details
    .map(
      (detail: Detail) =>
        `\n  ${visible(redactUrls(detail.field))}: ${visible(redactUrls(detail.message))}${allowed(detail)}`,
    )
    .join("");
}

interface Detail {
  readonly field: string;
  readonly message: string;
  readonly allowed: readonly string[] | null;
}

function allowed({ allowed: list, message }: Detail): string {
  const named = list?.filter((one) => !message.includes(one)) ?? [];
  return named.length === 0 ? "" : `; allowed: ${named.map((one) => visible(redactUrls(one))).join(", ")}`;
}

/** What was typed with the flag that would have let it through. */
function retyped(error: Error & { readonly code?: unknown }, args: readonly string[] | null): string | null {
  if (args === null) return null;
  if (error.code === "WALLET_SHORT")
    return `add funds, or go as far as the wallet does: ${repeatedCommand({ args }, "--start-anyway")}`;
  const offered =
    error.code === "QUOTE_REFUSED" && "offer" in error ? (error.offer as { readonly id: string | null }) : null;
  if (offered?.id != null) return repeatedCommand({ args }, "--quote", offered.id);
  if (error.code !== "OVER_BUDGET" || !("quoteMicros" in error)) return null;
  return repeatedCommand({ args }, "--budget", formatUsd(Number(error.quoteMicros)));
}

/** A mistake of ours, or of the pipeline's own code: no error that was foreseen. */
export function isUnexpected(error: Error): boolean {
  const isForeseen = error instanceof CliError || isFileSystemError(error);
  return !isForeseen && !("code" in error && typeof error.code === "string" && isOurs(error));
}

/** Errors of the library are recognised by shape: importing its base class would load the library for `--help`. */
function isOurs(error: Error): boolean {
  for (let type: unknown = error.constructor; typeof type === "function"; type = Object.getPrototypeOf(type)) {
    if (type.name === "ShowrunnerError" || type.name === "LocalServiceError") return true;
  }
  return false;
}

function bug(message: string, stack?: string): Explanation {
  return {
    code: "UNEXPECTED",
    message: `unexpected: ${visibleLines(stack ?? message)}`,
    next: "set SHOWRUNNER_DEBUG=1 for the stack; if it is not your pipeline's, please report it",
    exitCode: ExitCode.failed,
  };
}
