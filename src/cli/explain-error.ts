import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import type { ErrorDetail } from "../core/api/index.ts";
import { redactUrls } from "../core/kit/clean-text.ts";
import { own as ownEntry } from "../core/kit/lookup.ts";
import { formatUsd } from "../core/kit/money.ts";
import { CliError, ExitCode } from "./cli-error.ts";
import { options } from "./program/flags.ts";
import { visible, visibleLines } from "./text/escape.ts";
import { flagName, repeatedCommand } from "./text/next-line.ts";

const meanings: Readonly<Record<string, readonly [meaning: string, next: string]>> = {
  ENOENT: ["does not exist, or is a broken link", "check the path, then run the command again"],
  EEXIST: ["exists and is not a folder", "use another path, or move that file"],
  ENOTDIR: ["has a file where a folder is expected", "use another path, or move that file"],
  EISDIR: ["is a folder, not a file", "use a file"],
  ELOOP: ["is a link that points to itself", "remove the link, or use another path"],
  ENAMETOOLONG: ["has a name that is too long for this file system", "use a shorter path"],
  EACCES: ["is not accessible to this user", "change its permissions, or use another path"],
  EPERM: ["cannot be changed by this user", "change its permissions, or use another path"],
  EROFS: ["is on a read-only disk", "make the disk writable, or use another path"],
  ENOSPC: ["is on a full disk", "free up disk space, then run the command again"],
  EDQUOT: ["could not be written: your disk quota is used up", "free up disk space, then run the command again"],
  EMFILE: [
    "could not be opened, because too many files are open",
    "raise the limit (ulimit -n), then run the command again",
  ],
  EBUSY: ["is in use by another program", "close that program, then run the command again"],
  EIO: ["could not be read or written because of a disk error", "check the disk, then run the command again"],
};

function isFileSystemError(error: Error): error is NodeJS.ErrnoException {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  return typeof code === "string" && Object.hasOwn(meanings, code) && (path !== undefined || syscall === "write");
}

function fileSystemError(error: NodeJS.ErrnoException): Explanation {
  const { code = "", path, syscall = "" } = error;
  const [meaning, next] = meanings[code]!;
  const message = `${path === undefined ? "The output" : visible(path)} ${meaning} (${code}, ${syscall})`;
  return { code, message: message + codeFrame(error), next, exitCode: ExitCode.failed };
}

interface Explanation {
  readonly code: string;
  readonly message: string;
  readonly next: string;
  readonly exitCode: ExitCode;
}

interface ErrorContext {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly args?: readonly string[] | null;
}

const RESTORE = "restore the journal from a copy; with a new journal you would pay for everything again";

const thenResume = (cure: string) =>
  `${cure}, then run the command again; to continue a run that has already started, use showrunner resume`;

const advice: Readonly<Partial<Record<ExitCode, Readonly<Record<string, string>>>>> = {
  [ExitCode.refused]: {
    PLAN_PROBLEMS: "correct the problems and try again; `showrunner plan` checks the pipeline without spending money",
    OVER_BUDGET: "set a larger --budget, or generate less; `showrunner plan` shows the prices",
    QUOTE_REFUSED: "`showrunner plan` shows the current prices and a new quote",
    WALLET_SHORT:
      "add funds, then run the command again; or use --start-anyway to start and pause when the wallet is empty",
    RUN_EXISTS: "showrunner resume {run}   (or choose another --id)",
    RUN_DIFFERS: "choose another --id",
    RUN_UNKNOWN: "showrunner runs   (for another journal, add --journal FILE)",
    ACCOUNT_MISMATCH:
      "set SHOWRUNNER_BASE_URL and SHOWRUNNER_API_KEY to the values that the run was started with; if the account has a new key or the service has a new address: showrunner resume {run} --account-moved",
    INVALID_OPTION: "showrunner doctor",
    LOCAL_SERVICE_MISSING: "showrunner doctor",
    PORT_IN_USE: "showrunner serve --port 0   (picks a free port)",
    DATA_DIR_IN_USE: "showrunner serve --data OTHER-FOLDER   (or use the service that is running)",
    DATA_DIR_UNUSABLE: "showrunner serve --data OTHER-FOLDER",
    OPTION_INVALID: "showrunner serve --help",
    FAMILIES_INVALID: "correct the file set by --families or SHOWRUNNER_FAMILIES",
    CATALOG_INVALID: "correct the file set by --catalog",
    RECORDING_UNUSABLE: "showrunner record OTHER-FOLDER",
    JOURNAL_NOT_A_JOURNAL: "use another journal: --journal FILE, or SHOWRUNNER_JOURNAL",
    JOURNAL_FOLDER: "make the journal's folder writable, then run the command again",
    JOURNAL_READ_ONLY: "make the journal writable, or use a copy with --journal FILE, then run the command again",
    JOURNAL_NEWER_VERSION: "update Showrunner, then run the command again",
    JOURNAL_ACCESS: "correct the database login or its permissions, then run the command again",
    MEDIA_FOLDER: "make the media folder writable, then run the command again",
  },
  [ExitCode.unfinished]: {
    INSUFFICIENT_BALANCE: "showrunner balance",
    JOURNAL_DISK_FULL: thenResume("free up disk space"),
    JOURNAL_IO: thenResume("check the disk"),
    JOURNAL_UNREACHABLE: thenResume("make sure that the database is reachable"),
    MEDIA_LOST: "showrunner resume {run}",
  },
  [ExitCode.failed]: {
    RUN_BUSY: "showrunner events {run} --follow   (another process is driving the run)",
    INVALID_ARGUMENT: "correct the fields above; `showrunner models show MODEL` lists what a model accepts",
    UNAUTHORIZED:
      "check SHOWRUNNER_API_KEY, or the service's own variable (<key_id>:<secret>), then: showrunner doctor",
    JOURNAL_CORRUPT: RESTORE,
    JOURNAL_ILLEGAL_EVENT: RESTORE,
    JOURNAL_BUSY: "run the command again when the other process has finished",
    ENGINE_UNAVAILABLE: "start restate-server, or set its address with --engine-url, then run the command again",
    CONNECTION_FAILED: "check SHOWRUNNER_BASE_URL and the network, then: showrunner doctor",
  },
};

type Thrown = Error & { readonly code?: unknown; readonly runId?: string; readonly next?: string | null };

export function explainError(error: unknown, { env = {}, args = null }: ErrorContext = {}): Explanation {
  if (error instanceof CliError) {
    const { code, message, next, exitCode } = error;
    return { code, message, next, exitCode };
  }
  if (!(error instanceof Error)) return bug(String(error));
  const { code, runId, next: own } = error as Thrown;
  if (isFileSystemError(error)) return fileSystemError(error);
  if (isUnexpected(error) || typeof code !== "string")
    return bug(error.message + codeFrame(error), env.SHOWRUNNER_DEBUG ? error.stack : undefined);
  const exits = [ExitCode.refused, ExitCode.unfinished] as const;
  const exitCode = exits.find((exit) => Object.hasOwn(advice[exit]!, code)) ?? ExitCode.failed;
  const known = ownEntry(advice[exitCode]!, code) ?? "showrunner doctor";
  const isOption = code === "INVALID_OPTION";
  const generic = isOption && args?.[0] !== undefined ? `showrunner ${args[0]} --help` : known;
  const cure = retyped(error, args) ?? (isOption ? cureOf(typedName(error, { env, args })) : null);
  const next = own ? visibleLines(own) : (cure ?? generic.replace("{run}", runId ?? "<run-id>"));
  const message = isOption ? asTyped(error, { env, args }) : error.message;
  return { code, message: visibleLines(redactUrls(message)) + detailList(error), next, exitCode };
}

const FLAGS_BY_OPTION: Readonly<Record<string, readonly string[]>> = {
  caps: ["cap"],
  tags: ["tag"],
  outDir: ["out"],
  rerun: ["rerun", "redo", "rerun-failed"],
  edit: ["edit", "redo"],
};
const ARGUMENTS: Readonly<Record<string, string>> = { step: "step", run: "run-id", "job-id": "job-id", file: "job-id" };

interface OfOption extends Error {
  readonly option?: string | null;
}

/** Returns an option error's message, beginning with the flag, argument or variable that sets the option. */
export function asTyped(error: OfOption, context: ErrorContext = {}): string {
  const { option, message } = error;
  if (!option) return message;
  if (option === "resume") return message.replace(`${option}: `, "");
  const name = typedName(error, context);
  if (message.startsWith(`${option} `)) return name + message.slice(option.length);
  return message.replace(`${option}: `, `${name}: `);
}

/** Returns the flag, argument or variable that sets the option, or the option's name in code if there is none. */
function typedName({ option }: OfOption, { env = {}, args }: ErrorContext): string {
  if (!option) return "";
  const isTyped = (name: string) =>
    args?.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)) === true;
  const names = ownEntry(FLAGS_BY_OPTION, option) ?? [flagName(option)];
  const name = names.find(isTyped) ?? names[0]!;
  const flag = `--${name}`;
  const argument = ownEntry(ARGUMENTS, option);
  const variable = `SHOWRUNNER_${name.replaceAll("-", "_").toUpperCase()}`;
  const isFromVariable = env[variable] && !isTyped(name);
  const isFlag = Object.values(options).some((all) => Object.keys(all).some((syntax) => syntax.split(" ")[0] === flag));
  return argument ? `argument ${argument}` : isFromVariable ? variable : isFlag ? flag : option;
}

const AMOUNT = "an amount in dollars, such as 5 or 0.25";
const VALUES: Readonly<Record<string, string>> = {
  SHOWRUNNER_BASE_URL: "the service's v3 address, such as https://host/v3",
  SHOWRUNNER_API_KEY: "a key, <key_id>:<secret>, or a token",
  SHOWRUNNER_SPENDING_CAP: AMOUNT,
  SHOWRUNNER_WALLET_FLOOR: AMOUNT,
  SHOWRUNNER_CAPS: "caps, such as 50/day,team=video:10/day",
  SHOWRUNNER_CAP_TIME_ZONE: "a time zone, such as Europe/Berlin",
};

/**
 * Returns how to correct an environment variable or the base URL. Returns null for other options, because the command's
 * help explains them.
 */
function cureOf(typed: string): string | null {
  if (typed === "--base-url") return "use the service's v3 address: --base-url https://host/v3";
  if (!typed.startsWith("SHOWRUNNER_")) return null;
  const value = ownEntry(VALUES, typed);
  return value === undefined ? `correct ${typed}, then run the command again` : `set ${typed} to ${value}`;
}

function detailList(error: object): string {
  const details = "details" in error && Array.isArray(error.details) ? error.details : [];
  return details.map(detailLine).join("");
}

function detailLine({ field, message, allowed }: ErrorDetail): string {
  const named = allowed?.filter((value) => !message.includes(value)) ?? [];
  const choices = named.length === 0 ? "" : `; allowed: ${named.join(", ")}`;
  return `\n  ${visible(redactUrls(`${field}: ${message}${choices}`))}`;
}

/** Returns the user's command with the flag that would make it succeed. Returns null if there is no such flag. */
function retyped(error: Error & { readonly code?: unknown }, args: readonly string[] | null): string | null {
  if (args === null) return null;
  if (error.code === "WALLET_SHORT")
    return `add funds, or start now and pause when the wallet is empty: ${repeatedCommand({ args }, "--start-anyway")}`;
  const offered =
    error.code === "QUOTE_REFUSED" && "offer" in error ? (error.offer as { readonly id: string | null }) : null;
  if (offered?.id != null) return repeatedCommand({ args }, "--quote", offered.id);
  if (error.code !== "OVER_BUDGET" || !("quoteMicros" in error)) return null;
  return repeatedCommand({ args }, "--budget", formatUsd(Number(error.quoteMicros)));
}

export function isUnexpected(error: Error): boolean {
  const isForeseen = error instanceof CliError || isFileSystemError(error);
  return !isForeseen && !("code" in error && typeof error.code === "string" && isOurs(error));
}

/**
 * Returns whether the library defines an error's class. Compares class names, because importing the class would load
 * the library even for `--help`.
 */
function isOurs(error: Error): boolean {
  for (let type: unknown = error.constructor; typeof type === "function"; type = Object.getPrototypeOf(type)) {
    if (type.name === "ShowrunnerError" || type.name === "LocalServiceError") return true;
  }
  return false;
}

function bug(message: string, stack?: string): Explanation {
  return {
    code: "UNEXPECTED",
    message: `unexpected error: ${visibleLines(stack ?? message)}`,
    next: "set SHOWRUNNER_DEBUG=1 to see the stack trace; if the error is not in your pipeline, please report it",
    exitCode: ExitCode.failed,
  };
}

/** Query parameter that makes Node load a file again. */
export const GENERATION = "showrunner-load";

const ours = new URL("../", import.meta.url).href;

export function codeFrame(error: Error): string {
  const lines = (error.stack ?? "").replaceAll(new RegExp(`\\?${GENERATION}=\\d+`, "g"), "").split("\n");
  const header = lines.findIndex((line) => line.startsWith(error.name));
  const frame = header > 0 ? lines.slice(0, header) : lines.filter(isUserFrame).slice(0, 1);
  return indented(frame);
}

function isUserFrame(line: string): boolean {
  return /^\s+at .*file:\/\//.test(line) && !line.includes(ours) && !line.includes("/node_modules/");
}

/** Finds the source line of an unresolved import, because Node's error does not contain it. */
export function importFrame(error: Error): string {
  const [, missing, importer = ""] = /'([^']+)' imported from (.+)$/m.exec(error.message) ?? [];
  const file = importer.startsWith("file:") ? fileURLToPath(importer) : importer;
  if (missing === undefined || !existsSync(file)) return "";
  const lines = readFileSync(file, "utf8").split("\n");
  const name = basename(missing);
  const at = lines.findIndex((line) => line.split(/["'`]/).some((part, index) => index > 0 && part.includes(name)));
  return at < 0 ? "" : indented([`${file}:${at + 1}`, lines[at]!.trim()]);
}

function indented(lines: readonly string[]): string {
  const shown = lines.filter((line) => line.trim() !== "").map((line) => `\n  ${line.trimEnd()}`);
  return visibleLines(shown.join(""));
}
