import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { RunNotification } from "../../api/webhooks/verify-webhook.ts";
import type { JournalStore } from "../../journal/store.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { open, syncFolder } from "../../kit/files.ts";
import { folderOfJournal } from "../../kit/journal-location.ts";
import { ATTEMPT_MS } from "./notifier.ts";
import { type NotifyOption, notifyTarget, type Send, senderOf, shownTarget } from "./send.ts";

export interface NotifyOptions {
  /**
   * Where to send a notification when a run waits for a person, needs funds, cannot reach the service, fails or
   * finishes. Default: environment SHOWRUNNER_NOTIFY_URL or SHOWRUNNER_NOTIFY_COMMAND, otherwise nowhere.
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
  /** The target, without parts that may be secret; null if there is none. */
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

export async function signingKey(file: string, env: Readonly<Record<string, string | undefined>>): Promise<KeyObject> {
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

/** Returns 32 bytes in Base64, the form that `verifyWebhook` accepts. */
export function publicKeyOf(key: KeyObject): string {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/** Creates the key file. Processes that do so at the same time all get the same key. */
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
    "must be 32 bytes in Base64; create them with: openssl rand -base64 32",
  );
}

function unusable(file: string): InvalidOptionError {
  return new InvalidOptionError(
    "notify",
    `${file} does not contain an Ed25519 key; restore the key, or remove the file so that a new one is created.`,
  );
}
