import { randomUUID } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import type { RunNotification } from "../../api/webhooks/verify-webhook.ts";
import type { JournalStore } from "../../journal/store.ts";
import { ATTEMPT_MS } from "./notifier.ts";
import { type Send, senderOf } from "./send.ts";
import { publicKeyOf, signingKey } from "./signing-key.ts";
import { type NotifyOption, notifyTarget, shownTarget } from "./target.ts";

export interface NotifyOptions {
  /**
   * Who is told when a run waits for a person, needs funds, cannot reach the service, failed or finished. Default:
   * environment SHOWRUNNER_NOTIFY_URL or SHOWRUNNER_NOTIFY_COMMAND, else none.
   */
  readonly notify?: NotifyOption | undefined;
  /** The journal beside which the signing key lies, in `notify-key.pem`. */
  readonly journal?: string | JournalStore | undefined;
  /** Folder of the media store; the key lies beside it when the journal is no file. */
  readonly mediaDir?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** How people are told of runs; see docs/notifications.md. */
export interface Notifications {
  /** Where news go, without what may be a secret in it; null: nowhere. */
  readonly target: string | null;
  /** Base64 of the 32 bytes that webhooks are verified with. Made at first use. */
  publicKey(): Promise<string>;
  /** Sends a test notification. Null when it was delivered, else the error. */
  test(): Promise<string | null>;
}

/** Throws `InvalidOptionError` when the target is neither URL nor command. */
export function openNotifications(options: NotifyOptions = {}): Notifications & { readonly send: Send | null } {
  const env = options.env ?? process.env;
  const target = notifyTarget(options.notify, env);
  const key = () => signingKey(resolve(join(folderOf(options, env), "notify-key.pem")), env);
  const send = target === null ? null : senderOf(target, key, env);
  return {
    send,
    target: target === null ? null : shownTarget(target),
    publicKey: async () => publicKeyOf(await key()),
    test: async () => {
      if (send === null) return "nobody is to be told";
      const at = Date.now();
      const id = `test:${randomUUID()}`;
      const body = JSON.stringify(testNotification(id, at));
      return send({ id, event: "notify.test", body, attempt: 1, at }, AbortSignal.timeout(ATTEMPT_MS));
    },
  };
}

function testNotification(id: string, at: number): RunNotification {
  const none = { run: null, pipeline: null, status: null, reason: null, step: null, cost_usd: null, next: null };
  return {
    id,
    event: "notify.test",
    at: new Date(at).toISOString(),
    message: "Showrunner can reach you here.",
    ...none,
  };
}

function folderOf({ journal, mediaDir }: NotifyOptions, env: NonNullable<NotifyOptions["env"]>): string {
  const file = journal ?? env.SHOWRUNNER_JOURNAL;
  if (typeof file === "string") return dirname(file);
  return mediaDir === undefined ? ".showrunner" : dirname(mediaDir);
}
