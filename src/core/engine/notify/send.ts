import { spawn } from "node:child_process";
import { type KeyObject, sign } from "node:crypto";
import { signedText } from "../../api/webhooks/verify-webhook.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { fetchForOperator, unreached } from "../../network/index.ts";

/** One attempt to deliver a notification. */
export interface Delivery {
  /** The notification's id, the same for every attempt, so that receivers can recognise duplicates. */
  readonly id: string;
  readonly event: string;
  readonly body: string;
  /** Number of the attempt, starting at 1. */
  readonly attempt: number;
  readonly at: number;
}

export type Send = (delivery: Delivery, signal: AbortSignal) => Promise<string | null>;

/** The command gets no other environment variables, because they may contain credentials. */
const PASSED_ON = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];
const WINDOWS = ["SystemRoot", "windir", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"];

export function senderOf(
  target: NotifyTarget,
  key: () => Promise<KeyObject>,
  env: Readonly<Record<string, string | undefined>>,
): Send {
  if (target.kind === "command") return (delivery, signal) => runCommand(target.argv, delivery, { env, signal });
  return async (delivery, signal) => post(target.url, delivery, await key(), signal);
}

async function post(url: string, delivery: Delivery, key: KeyObject, signal: AbortSignal): Promise<string | null> {
  try {
    const body = Buffer.from(delivery.body);
    const headers = signedHeaders(delivery, body, key);
    const answer = await fetchForOperator(url, { method: "POST", body, headers, signal });
    await answer.body?.cancel();
    return answer.ok ? null : `the target responded with status ${answer.status}`;
  } catch (error) {
    const { cause, message } = error as Error;
    const inner = cause as NodeJS.ErrnoException | undefined;
    return `the target could not be reached (${unreached(error, url) ?? inner?.code ?? inner?.message ?? message})`;
  }
}

function signedHeaders({ id, event, attempt, at }: Delivery, body: Buffer, key: KeyObject): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const text = signedText({ timestamp, id, event, redelivery: "false" }, body);
  const name = (extension: string) => `X-Showrunner-Webhook-${extension}`;
  return {
    "Content-Type": "application/json",
    "User-Agent": "Showrunner-Notify",
    [name("Id")]: id,
    [name("Timestamp")]: timestamp,
    [name("Event")]: event,
    [name("Redelivery")]: "false",
    [name("Attempt")]: String(attempt),
    [name("Signature")]: sign(null, text, key).toString("hex"),
  };
}

function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  { body }: Delivery,
  { env, signal }: { readonly env: Readonly<Record<string, string | undefined>>; readonly signal: AbortSignal },
): Promise<string | null> {
  const passed = process.platform === "win32" ? [...PASSED_ON, ...WINDOWS] : PASSED_ON;
  const childEnv = Object.fromEntries(passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  return new Promise((done) => {
    const child = spawn(program, args, {
      env: childEnv,
      signal,
      killSignal: "SIGKILL",
      windowsHide: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.on("error", (error: NodeJS.ErrnoException) =>
      done(`${program} did not run (${error.code ?? error.message})`),
    );
    child.on("exit", (code, by) => done(code === 0 ? null : `${program} ended with ${code ?? by}`));
    // Ignore the error of a program that closes the pipe without reading its input.
    child.stdin.on("error", () => {});
    child.stdin.end(`${body}\n`);
  });
}

/**
 * Where to send notifications: a URL for POST requests, or a command that receives them as JSON on stdin. A string is
 * `https://…` or `command:program argument …`. `off` or false disables notifications, even if the environment sets a
 * target.
 */
export type NotifyOption = string | { readonly url: string } | { readonly command: readonly string[] } | false;

export type NotifyTarget =
  | { readonly kind: "webhook"; readonly url: string }
  | { readonly kind: "command"; readonly argv: readonly [string, ...string[]] };

type Env = Readonly<Record<string, string | undefined>>;

export function notifyTarget(given: NotifyOption | undefined, env: Env): NotifyTarget | null {
  if (given !== undefined) return ofOption(given);
  const { SHOWRUNNER_NOTIFY_URL: url, SHOWRUNNER_NOTIFY_COMMAND: command } = env;
  if (url && command) {
    throw new InvalidOptionError("SHOWRUNNER_NOTIFY_URL", "is set, and so is SHOWRUNNER_NOTIFY_COMMAND; unset one.");
  }
  if (url) return webhook(url, "SHOWRUNNER_NOTIFY_URL");
  return command ? ofCommand(split(command), "SHOWRUNNER_NOTIFY_COMMAND") : null;
}

/** Returns the target without the path of a URL, which may be secret. */
export function shownTarget(target: NotifyTarget): string {
  return target.kind === "webhook" ? new URL(target.url).origin : `command ${target.argv[0]}`;
}

function ofOption(given: NotifyOption): NotifyTarget | null {
  if (given === false || given === "off") return null;
  if (typeof given !== "string") {
    return "url" in given ? webhook(given.url, "notify") : ofCommand(given.command, "notify");
  }
  return given.startsWith("command:") ? ofCommand(split(given.slice(8)), "notify") : webhook(given, "notify");
}

function webhook(text: string, option: string): NotifyTarget {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === "https:" || url?.protocol === "http:") return { kind: "webhook", url: url.href };
  throw new InvalidOptionError(option, "must be an http or https URL, or command:program with its arguments.");
}

function ofCommand([program, ...rest]: readonly string[], option: string): NotifyTarget {
  if (program) return { kind: "command", argv: [program, ...rest] };
  throw new InvalidOptionError(option, "names no program; add one with its arguments, such as notify-send done.");
}

/** Splits a command at spaces outside quotes. Variables and wildcards are not expanded. */
function split(text: string): readonly string[] {
  const words = text.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}
