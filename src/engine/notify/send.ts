import { spawn } from "node:child_process";
import { type KeyObject, sign } from "node:crypto";
import { signedText } from "../../api/webhooks/verify-webhook.ts";
import type { NotifyTarget } from "./target.ts";

/** One piece of news on its way. */
export interface Delivery {
  /** The same at every attempt: what a receiver dedupes on. */
  readonly id: string;
  readonly event: string;
  readonly body: string;
  /** From 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Null once it was taken; else what was wrong. */
export type Send = (delivery: Delivery, signal: AbortSignal) => Promise<string | null>;

/** What a command gets of our environment: what programs need to run, and no credential. */
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
    // A redirect is no answer of the address that was configured.
    const answer = await fetch(url, { method: "POST", redirect: "manual", body, headers, signal });
    await answer.body?.cancel();
    return answer.ok ? null : `it answered ${answer.status}`;
  } catch (error) {
    const { cause, message } = error as Error;
    const inner = cause as NodeJS.ErrnoException | undefined;
    return `it could not be reached (${inner?.code ?? inner?.message ?? message})`;
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
  const own = Object.fromEntries(passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  return new Promise((done) => {
    const child = spawn(program, args, {
      ...{ env: own, signal, killSignal: "SIGKILL", windowsHide: true },
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.on("error", (error: NodeJS.ErrnoException) =>
      done(`${program} did not run (${error.code ?? error.message})`),
    );
    child.on("exit", (code, by) => done(code === 0 ? null : `${program} ended with ${code ?? by}`));
    // A program that does not read its input closes the pipe early.
    child.stdin.on("error", () => {});
    child.stdin.end(`${body}\n`);
  });
}
