import { spawn } from "node:child_process";
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { link, mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Clock } from "../../api/index.ts";
import { type RunNotification, signedText } from "../../api/webhooks/verify-webhook.ts";
import { type StoredEvent, specOf } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore, NewNotice, NoticeRow } from "../../journal/store.ts";
import { redactUrls } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { open, syncFolder } from "../../kit/files.ts";
import { folderOfJournal } from "../../kit/journal-location.ts";
import { formatUsd } from "../../kit/money.ts";
import { fetchForOperator, unreached } from "../../network/index.ts";

export interface NotifyOptions {
  /**
   * Where to send a notification when a run waits for a person, needs funds, cannot reach the service, fails or
   * finishes. Default: the environment variable `SHOWRUNNER_NOTIFY_URL` or `SHOWRUNNER_NOTIFY_COMMAND`, otherwise
   * nowhere.
   */
  readonly notify?: NotifyOption | undefined;
  /** The journal. If it is a file, the signing key `notify-key.pem` is stored beside it. */
  readonly journal?: string | JournalStore | undefined;
  /** The media folder. If the journal is not a file, the signing key is stored beside this folder. */
  readonly mediaDir?: string | undefined;
  /** The environment variables. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Notifications about runs; see docs/notifications.md. */
export interface Notifications {
  /** Where notifications are sent, without parts that may be secret; null if no target is set. */
  readonly target: string | null;
  /** Returns the public key that verifies webhooks: 32 bytes in Base64. The key is created on first use. */
  publicKey(): Promise<string>;
  /** Sends a test notification. Returns null if delivered, otherwise the error. */
  test(): Promise<string | null>;
  /** Sends a notification that does not concern a particular run. Returns null if delivered, otherwise the error. */
  tell(news: Pick<RunNotification, "id" | "event" | "message" | "next">): Promise<string | null>;
}

export function openNotifications(options: NotifyOptions = {}): Notifications & { readonly send: Send | null } {
  const env = options.env ?? process.env;
  const target = notifyTarget(options.notify, env);
  const key = () => signingKey(resolve(join(folderOf(options, env), "notify-key.pem")), env);
  const send = target === null ? null : senderOf(target, key, env);
  const tell: Notifications["tell"] = async (news) => {
    if (send === null) return "no notification target is set";
    const at = Date.now();
    const { id, event } = news;
    const body = JSON.stringify({ ...OF_NO_RUN, ...news, at: new Date(at).toISOString() } satisfies RunNotification);
    return send({ id, event, body, attempt: 1, at }, AbortSignal.timeout(ATTEMPT_MS));
  };
  return {
    send,
    target: target === null ? null : shownTarget(target),
    publicKey: async () => publicKeyOf(await key()),
    tell,
    test: () =>
      tell({ id: `test:${randomUUID()}`, event: "notify.test", message: "Showrunner can reach you here.", next: null }),
  };
}

const OF_NO_RUN = { run: null, pipeline: null, title: null, status: null, reason: null, step: null, cost_usd: null };

function folderOf({ journal, mediaDir }: NotifyOptions, env: NonNullable<NotifyOptions["env"]>): string {
  const file = journal ?? env.SHOWRUNNER_JOURNAL;
  if (typeof file === "string" && file !== "") return folderOfJournal(file);
  return mediaDir === undefined ? ".showrunner" : dirname(mediaDir);
}

/** The PKCS #8 header in front of the 32 bytes of an Ed25519 private key. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

async function signingKey(file: string, env: Readonly<Record<string, string | undefined>>): Promise<KeyObject> {
  const { SHOWRUNNER_NOTIFY_KEY: given } = env;
  if (given) return ofSeed(Buffer.from(given, "base64"));
  try {
    return createPrivateKey(await readFile(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw unusable(file);
  }
  await makeKey(file);
  return createPrivateKey(await readFile(file));
}

function publicKeyOf(key: KeyObject): string {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/**
 * Creates the key file. If another process creates it first, keeps that file, so that all processes use the same key.
 */
async function makeKey(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const part = `${file}.${randomUUID()}`;
  try {
    const handle = await open(part, "wx", 0o600);
    try {
      await handle.writeFile(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(part, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    await syncFolder(dirname(file));
  } finally {
    await rm(part, { force: true });
  }
}

function ofSeed(seed: Buffer): KeyObject {
  if (seed.length === 32)
    return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: "der", type: "pkcs8" });
  throw new InvalidOptionError(
    "SHOWRUNNER_NOTIFY_KEY",
    "must be 32 bytes in Base64; generate a key with: openssl rand -base64 32",
  );
}

function unusable(file: string): InvalidOptionError {
  return new InvalidOptionError(
    "notify",
    `${file} does not contain an Ed25519 key; restore the key, or remove the file so that a new one is created.`,
  );
}

/** Maximum length of a message. Longer messages are truncated, because the receiver may be a phone. */
const MOST_CHARACTERS = 2_000;

export function noticesOf(state: RunState, events: readonly StoredEvent[]): readonly NewNotice[] {
  return events.flatMap(({ seq, at, event }): readonly NewNotice[] => {
    const news = specOf(event).notice?.(event, state) ?? null;
    if (news === null) return [];
    const body: RunNotification = {
      id: noticeId(state.runId, seq),
      run: state.runId,
      pipeline: state.planned.plan.pipeline,
      title: state.planned.title ?? null,
      at: new Date(at).toISOString(),
      ...news,
      message: news.message === null ? null : redactUrls(news.message).slice(0, MOST_CHARACTERS),
      cost_usd: formatUsd(state.spentMicros),
    };
    return [{ seq, event: news.event, body: JSON.stringify(body) }];
  });
}

function noticeId(runId: string, seq: number): string {
  return `${runId}:${seq}`;
}

interface NotifierParts {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly send: Send;
}

const ATTEMPT_MS = 10_000;
/** How long a claim on a notification is valid, in milliseconds. It must be longer than a delivery attempt. */
const CLAIM_MS = 15_000;
const POLL_EVERY_MS = 5_000;
const AT_ONCE = 10;
const RETRY_AFTER_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000] as const;
const THEN_EVERY_MS = HOUR_MS;

export function retryAfterMs(attempts: number): number {
  return RETRY_AFTER_MS[attempts - 1] ?? THEN_EVERY_MS;
}

export class Notifier {
  readonly #parts: NotifierParts;
  readonly #closing = new AbortController();
  #wake: AbortController | null = null;
  #loop: Promise<void> | null = null;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  poke(): void {
    if (this.#closing.signal.aborted) return;
    this.#loop ??= this.#run();
    this.#wake?.abort();
  }

  async deliverDue(): Promise<void> {
    const { store, clock } = this.#parts;
    for (;;) {
      const at = clock.now();
      const due = await store.claimNotices({ at, untilAt: at + CLAIM_MS, limit: AT_ONCE });
      if (due.length === 0) return;
      await Promise.all(due.map((notice) => this.#tell(notice)));
    }
  }

  async close(): Promise<void> {
    if (this.#loop === null) return;
    this.#closing.abort();
    this.#wake?.abort();
    await this.#loop;
    await this.deliverDue().catch(() => {});
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      this.#wake = new AbortController();
      // Ignore errors of the journal. The process that executes a run reports them.
      await this.deliverDue().catch(() => {});
      if (this.#closing.signal.aborted) return;
      await this.#rest(this.#wake.signal);
    }
  }

  /** Waits without keeping the process alive, because a later process can deliver the remaining notifications. */
  #rest(wake: AbortSignal): Promise<void> {
    return new Promise((done) => {
      if (wake.aborted) return done();
      const timer = this.#parts.clock.setTimer(POLL_EVERY_MS, done, { background: true });
      wake.addEventListener("abort", () => {
        timer.cancel();
        done();
      });
    });
  }

  async #tell({ runId, seq, event, body, attempts }: NoticeRow): Promise<void> {
    const { store, clock, send } = this.#parts;
    const id = noticeId(runId, seq);
    const delivery = { id, event, body, attempt: attempts, at: clock.now() };
    const error = await send(delivery, AbortSignal.timeout(ATTEMPT_MS)).catch(String);
    const dueAt = clock.now() + retryAfterMs(attempts);
    await store.resolveNotice(runId, seq, error === null ? { delivered: true } : { delivered: false, dueAt, error });
  }
}

/** One attempt to deliver a notification. */
export interface Delivery {
  /** The notification's id, the same for every attempt, so that receivers can recognize duplicates. */
  readonly id: string;
  readonly event: string;
  readonly body: string;
  /** Number of the attempt, starting at 1. */
  readonly attempt: number;
  readonly at: number;
}

type Send = (delivery: Delivery, signal: AbortSignal) => Promise<string | null>;

/** Environment variables that the command receives. All others are withheld, because they may contain credentials. */
const PASSED_ON = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];
const WINDOWS = ["SystemRoot", "windir", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"];

function senderOf(
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
      done(`${program} could not be run (${error.code ?? error.message})`),
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

type NotifyTarget =
  | { readonly kind: "webhook"; readonly url: string }
  | { readonly kind: "command"; readonly argv: readonly [string, ...string[]] };

type Env = Readonly<Record<string, string | undefined>>;

export function notifyTarget(given: NotifyOption | undefined, env: Env): NotifyTarget | null {
  if (given !== undefined) return ofOption(given);
  const { SHOWRUNNER_NOTIFY_URL: url, SHOWRUNNER_NOTIFY_COMMAND: command } = env;
  if (url && command) {
    throw new InvalidOptionError(
      "SHOWRUNNER_NOTIFY_URL",
      "cannot be set together with SHOWRUNNER_NOTIFY_COMMAND; unset one of them.",
    );
  }
  if (url) return webhook(url, "SHOWRUNNER_NOTIFY_URL");
  return command ? ofCommand(split(command), "SHOWRUNNER_NOTIFY_COMMAND") : null;
}

/** Describes the target. Omits the path of a URL, because the path may be secret. */
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
  throw new InvalidOptionError(
    option,
    "must be an http or https URL, or 'command:' followed by a program and its arguments.",
  );
}

function ofCommand([program, ...rest]: readonly string[], option: string): NotifyTarget {
  if (program) return { kind: "command", argv: [program, ...rest] };
  throw new InvalidOptionError(option, "must name a program and its arguments, such as notify-send done.");
}

/** Splits a command at spaces outside quotes. Variables and wildcards are not expanded. */
function split(text: string): readonly string[] {
  const words = text.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}
