import { openNotifications } from "../../core/engine/index.ts";
import { openJournal } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, journalOf } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { type Column, counted, table } from "../text/table.ts";

const HOW = "use --notify https://… or --notify 'command:notify-send Showrunner', or SHOWRUNNER_NOTIFY_URL";

export async function testNotify(context: Context, flags: Flags["notify test"]): Promise<ExitCode> {
  const { output } = context;
  const notifications = opened(context, flags);
  const { target } = notifications;
  if (target === null) throw usageError("no notification target is set", HOW);
  const error = await notifications.test();
  const text = error === null ? " accepted the test notification" : `: ${visible(error)}`;
  output.result({ target, ok: error === null, error }, visible(target) + text);
  if (error !== null) output.say(`Next: correct the target, then run: showrunner notify test   (${HOW})`);
  return error === null ? ExitCode.done : ExitCode.failed;
}

export async function notifyKey(context: Context, flags: Flags["notify test"]): Promise<void> {
  const publicKey = await opened(context, flags).publicKey();
  context.output.result({ algorithm: "ed25519", public_key: publicKey }, publicKey);
}

export async function listNotices(context: Context, flags: Flags["notify test"]): Promise<void> {
  const { output, io } = context;
  const store = await openJournal(journalOf(io, flags));
  const rows = await store.notices().finally(() => store.close());
  const listed = rows.map(({ runId, seq, event, attempts, dueAt, lastError }) => ({
    id: `${runId}:${seq}`,
    event,
    attempts,
    next_attempt_at: new Date(dueAt).toISOString(),
    error: lastError,
  }));
  output.printJson(listed);
  if (listed.length > 0) {
    const columns: readonly Column<(typeof listed)[number]>[] = [
      { title: "id", value: ({ id }) => visible(id) },
      { title: "event", value: ({ event }) => event },
      { title: "attempts", value: ({ attempts }) => String(attempts), align: "right" },
      { title: "next attempt", value: (one) => one.next_attempt_at },
      { title: "last error", value: ({ error }) => visible(error ?? ""), flexible: true },
    ];
    output.print(table(listed, columns, io.stdout.columns));
  }
  const count = listed.length === 0 ? "No notifications" : counted(listed.length, "notification");
  output.say(
    `${count} to deliver. Notifications are delivered by showrunner worker, and by any process that drives runs in this journal and has a notification target.`,
  );
}

function opened({ io }: Context, flags: Flags["notify test"]) {
  return openNotifications({ notify: flags.notify, journal: journalOf(io, flags), env: io.env });
}
