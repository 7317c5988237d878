import { randomUUID } from "node:crypto";
import { mkdir, readFile, stat, statfs } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import process from "node:process";
import type { Client } from "../../core/api/index.ts";
import { checkMedia, describeDatabase, openNotifications } from "../../core/engine/index.ts";
import { redactUrl } from "../../core/kit/clean-text.ts";
import { chooseService, isKeyOfV2, isUsableKey, keyCommand, keyIdOf, missingKey } from "../../core/kit/deployments.ts";
import { formatDuration } from "../../core/kit/duration.ts";
import { isPostgresUrl, shownJournal } from "../../core/kit/journal-location.ts";
import { dollars } from "../../core/kit/money.ts";
import { namedProxy, noProxy, shownProxy } from "../../core/kit/proxy-route.ts";
import { formatBytes } from "../../core/kit/value-text.ts";
import { fetchForOperator, unreached } from "../../core/network/index.ts";
import type { RunRow } from "../../core/view/index.ts";
import { ffmpegSummary } from "../../film/index.ts";
import { type JournalStore, openJournal } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, journalFolderOf, journalOf, mediaOptionsOf, withShowrunner } from "../context.ts";
import { explainError } from "../explain-error.ts";
import type { Io } from "../io.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

const marks = { ok: "ok  ", fail: "FAIL", unknown: "?   " } as const;

export async function doctor(context: Context, flags: Flags["doctor"]): Promise<ExitCode> {
  const { output } = context;
  const target = webhookTarget(flags);
  const journal = await journalFindings(context.io, flags);
  const media = await mediaFindings(context.io, flags);
  // With a bad journal or media store, calling the service would only fail again.
  const isUsable = [...journal, ...media].every(({ check, state }) => !/journal|media/.test(check) || state === "ok");
  const findings = [
    fine("node", process.versions.node),
    credential(context, flags),
    proxies(context.io.env),
    ...(await authorities(context.io.env)),
    ...journal,
    ...media,
    await filmFinding(),
    ...(isUsable ? await serviceFindings(context, flags, target) : []),
  ];
  output.printJson(findings.map((one) => ({ ...one, ok: one.state !== "fail" })));
  for (const { check, state, detail } of findings) output.tell(`${marks[state]}  ${check.padEnd(10)}  ${detail}`);
  const advice = (failed: boolean) =>
    findings.flatMap(({ next, state }) => (next !== null && (state === "fail") === failed ? [next] : []));
  const cures = new Set(advice(true));
  if (cures.size > 0) output.next(...cures);
  for (const text of advice(false)) output.say(`To check: ${text}`);
  return findings.some(({ state }) => state === "fail") ? ExitCode.failed : ExitCode.done;
}

async function filmFinding(): Promise<Finding> {
  const ffmpeg = await ffmpegSummary();
  return "found" in ffmpeg ? fine("ffmpeg", ffmpeg.found) : unknown("ffmpeg", ffmpeg.lacks);
}

function credential({ io }: Context, flags: ServiceFlags): Finding {
  const hosted = chooseService(flags, io.env);
  if (hosted === null) {
    const how = "for a hosted service, set SHOWRUNNER_SERVICE or SHOWRUNNER_BASE_URL";
    return fine("credential", `none needed for the local service; ${how}`);
  }
  const wrong = (problem: string, next: string) => failed("credential", problem, next);
  if ("problem" in hosted) {
    const { setting, problem } = hosted;
    return wrong(`${setting} ${problem}`, `correct ${setting}, then: showrunner doctor`);
  }
  const { apiKey, keyFrom } = hosted;
  const cure = keyCommand(hosted);
  if (apiKey === null) return wrong(`${keyFrom} ${missingKey(hosted)}`, cure);
  if (!isUsableKey(apiKey))
    return wrong(`${keyFrom} must be <key_id>:<secret> or a token, without spaces or line breaks`, cure);
  if (isKeyOfV2(apiKey)) {
    const problem = `${keyFrom} contains a key for the previous API (v2); such keys begin with sk_`;
    return wrong(problem, `create a v3 key in the service's console, then: ${cure}`);
  }
  const keyId = keyIdOf(apiKey);
  return fine("credential", `${keyId === null ? "a token" : `key ${keyId}`}, from ${keyFrom}`);
}

function proxies(env: Io["env"]): Finding {
  try {
    const [https, http] = [namedProxy("https:", env), namedProxy("http:", env)];
    if (https === null && http === null) return fine("proxy", "none: neither HTTPS_PROXY nor HTTP_PROXY is set");
    const exceptions = noProxy(env);
    const parts = [
      `https ${https === null ? "direct" : `through ${shownProxy(https)}`}`,
      `http ${http === null ? "direct" : `through ${shownProxy(http)}`}`,
      exceptions === null
        ? "this machine direct"
        : `this machine and ${exceptions.value} direct (${exceptions.variable})`,
    ];
    return fine("proxy", visible(parts.join(", ")));
  } catch (error) {
    return failed("proxy", visible((error as Error).message), "correct the variable, then: showrunner doctor");
  }
}

async function authorities({ NODE_EXTRA_CA_CERTS: file }: Io["env"]): Promise<readonly Finding[]> {
  if (!file) return [];
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => error);
  const cure = "set NODE_EXTRA_CA_CERTS to a file of PEM certificates; Node ignores the current file";
  if (text instanceof Error) return [failed("authority", `${visible(file)} cannot be read (${text.code})`, cure)];
  const count = text.split("-----BEGIN CERTIFICATE-----").length - 1;
  const shown = `${counted(count, "certificate")} in ${visible(file)} (NODE_EXTRA_CA_CERTS)`;
  return [count > 0 ? fine("authority", shown) : failed("authority", shown, cure)];
}

/** Result of a check. `unknown` means that the check was not requested or is impossible on this machine. */
interface Finding {
  readonly check: string;
  readonly state: "ok" | "fail" | "unknown";
  readonly detail: string;
  readonly next: string | null;
}

function fine(check: string, detail: string): Finding {
  return { check, state: "ok", detail, next: null };
}

function failed(check: string, detail: string, next: string): Finding {
  return { check, state: "fail", detail, next };
}

function unknown(check: string, detail: string, next: string | null = null): Finding {
  return { check, state: "unknown", detail, next };
}

const LITTLE_ROOM_BYTES = 500_000_000;
const LOOKED_AT = 50;

async function journalFindings(io: Io, flags: ServiceFlags): Promise<readonly Finding[]> {
  const location = journalOf(io, flags);
  return orFailed("journal", io, async () => {
    const store = await openJournal(location);
    try {
      const rows = await store.runs();
      await readNewest(store, rows);
      const unfinished = rows.filter(({ status }) => status === "running" || status === "paused").length;
      const said = `${counted(rows.length, "run")}, ${unfinished} unfinished, ${await factsOf(location)}; the newest runs in ${visible(shownJournal(location))} were verified`;
      const folder = visible(dirname(location));
      const cure = `make the folder ${folder} and the journal's files writable, then run the command again`;
      return [
        store.isReadOnly === true
          ? failed("journal", `${visible(location)} can be read but not written to by this user`, cure)
          : fine("journal", said),
        await diskSpace(journalFolderOf(io, flags)),
        await telling(io, await store.notices()),
      ];
    } finally {
      await store.close();
    }
  });
}

async function orFailed(check: string, { env }: Io, find: () => Promise<readonly Finding[]>) {
  try {
    return await find();
  } catch (error) {
    const { message, next } = explainError(error, { env });
    return [failed(check, message, next)];
  }
}

async function factsOf(location: string): Promise<string> {
  if (!isPostgresUrl(location)) return formatBytes((await stat(location)).size);
  const { version, isPooled, roundTripMs } = await describeDatabase(location);
  const pooled = isPooled ? " behind a pooler, which does not forward notifications" : "";
  return `PostgreSQL ${visible(version)}${pooled}, ${roundTripMs.toFixed(1)} ms away`;
}

/** Checks the events of the newest runs. Throws if some are missing, because the journal is then damaged. */
async function readNewest(journal: JournalStore, rows: readonly RunRow[]): Promise<void> {
  for (const { runId, lastSeq } of rows.slice(0, LOOKED_AT)) {
    const events = await journal.read(runId);
    if (events.length >= lastSeq && events.every(({ seq }, at) => seq === at + 1)) continue;
    throw usageError(`Events of run ${visible(runId)} are missing`, "restore the journal from a copy");
  }
}

async function telling(io: Io, untold: readonly { readonly lastError: string | null }[]): Promise<Finding> {
  const { target } = openNotifications({ env: io.env });
  const refused = untold.find(({ lastError }) => lastError !== null);
  if (refused !== undefined) {
    const said = `notifications not delivered to ${visible(target ?? "any target")}: ${untold.length} (${visible(refused.lastError ?? "")})`;
    return failed("notify", said, "showrunner notify test   (showrunner notify list shows what was not delivered)");
  }
  const nobody = "off; to be notified when a run waits, set SHOWRUNNER_NOTIFY_URL or SHOWRUNNER_NOTIFY_COMMAND";
  return fine("notify", target === null ? nobody : `notifications go to ${visible(target)}`);
}

async function diskSpace(folder: string): Promise<Finding> {
  // With a database, the folder may not exist yet.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const said = `${formatBytes(free)} free for journal and media`;
  return free < LITTLE_ROOM_BYTES
    ? failed("disk", said, "showrunner gc   (removes old finished runs and their media)")
    : fine("disk", said);
}

/**
 * Maximum difference between this machine's clock and the bucket's, well below the 15 minutes at which servers refuse
 * requests.
 */
const BUCKET_SKEW_MS = 5 * 60_000;
/** Clock differences below this are ignored, because the `Date` header is only accurate to the second. */
const NO_SKEW_MS = 2_000;

async function mediaFindings(io: Io, flags: ServiceFlags): Promise<readonly Finding[]> {
  return orFailed("media", io, async () => {
    const { location, clockOffsetMs } = await checkMedia(mediaOptionsOf(io, flags));
    const can = fine("media", `files in ${visible(location)} can be written, read and deleted`);
    return clockOffsetMs === null
      ? [can]
      : [can, clockFinding("bucket clock", "bucket", clockOffsetMs, BUCKET_SKEW_MS)];
  });
}

function clockFinding(check: string, server: string, offsetMs: number, mostMs: number): Finding {
  const differsMs = Math.abs(offsetMs);
  if (differsMs <= NO_SKEW_MS) return fine(check, "agrees with this machine's clock");
  const detail = `the ${server}'s clock is ${formatDuration(differsMs)} ${offsetMs > 0 ? "ahead of" : "behind"} this machine's`;
  return differsMs <= mostMs ? fine(check, detail) : failed(check, detail, "synchronize this machine's clock (NTP)");
}

/** If clocks differ by more than this, receivers may refuse webhooks as too old. */
const WEBHOOK_SKEW_MS = 60_000;

async function serviceFindings(context: Context, flags: ServiceFlags, target: WebhookTarget | null) {
  const findings = await orFailed("service", context.io, () =>
    withShowrunner(flags, async (show) => {
      const began = performance.now();
      const { balanceMicros, currency } = await show.balance();
      const took = formatDuration(performance.now() - began);
      const hosted = chooseService(flags, context.io.env);
      const name = (hosted !== null && "deployment" in hosted && hosted.deployment?.title) || show.service.kind;
      return [
        fine("service", `${name} ${show.service.baseUrl}, answered in ${took}`),
        fine("balance", `${dollars(balanceMicros)} ${currency}`),
        clockFinding("clock", "service", show.client.clockOffsetMs(), WEBHOOK_SKEW_MS),
        ...(await webhookFindings(context, show.client, target)),
      ];
    }),
  );
  const unchecked = unknown("webhooks", "not checked, because the service could not be reached");
  return findings[0]!.state === "fail" ? [...findings, unchecked] : findings;
}

const TIMEOUT_MS = 10_000;

type WebhookTarget = NonNullable<ReturnType<typeof webhookTarget>>;

function webhookTarget({ webhookUrl: url, webhookPort: port }: Flags["doctor"]) {
  if (url === undefined) return null;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw usageError(
      `--webhook-url ${visible(url)} is not an HTTP URL`,
      "use the https:// URL that the service should call",
    );
  return { url: new URL(url), port: port! };
}

async function webhookFindings(context: Context, client: Client, target: WebhookTarget | null) {
  const set = await defaultWebhook(context, client);
  if (target === null) {
    const how = "showrunner doctor --webhook-url https://… --webhook-port 8080   (opens the port briefly)";
    return [set, unknown("reachable", "not checked, because no public URL for this machine was given", how)];
  }
  return [set, await reachable(target)];
}

async function defaultWebhook({ io }: Context, client: Client): Promise<Finding> {
  const none = fine("webhooks", "no default webhook is set; runs follow their jobs by streaming and polling");
  try {
    const { url, enabled } = await client.webhooks.default.get();
    if (!url) return none;
    const said = `${enabled ? "sent to" : "set but disabled:"} ${visible(redactUrl(url))}`;
    return {
      ...fine("webhooks", said),
      next: enabled ? "showrunner api POST /webhooks/default/test   (makes the service send a test webhook)" : null,
    };
  } catch (error) {
    const { message } = explainError(error, { env: io.env });
    return /NOT_FOUND|404/.test(message) ? none : unknown("webhooks", message);
  }
}

async function reachable({ url, port }: WebhookTarget): Promise<Finding> {
  const word = randomUUID();
  let isHeard = false;
  const server = createServer((request, response) => {
    if (request.headers["x-showrunner-doctor"] === word) isHeard = true;
    response.writeHead(204).end();
    request.resume();
  });
  try {
    await new Promise<void>((done, refused) => server.once("error", refused).listen(port, "127.0.0.1", done));
    const { port: own } = server.address() as AddressInfo;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const headers = { "x-showrunner-doctor": word };
    const answer = await fetchForOperator(url, { method: "POST", headers, signal });
    await answer.body?.cancel();
    if (isHeard) return fine("reachable", `${visible(url.origin)} reaches port ${own} on this machine`);
    const said = `${visible(url.origin)} answered ${answer.status}, but the request did not reach port ${own} on this machine`;
    return failed("reachable", said, "check which port the URL forwards to");
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = unreached(error, url.href) ?? (cause instanceof Error ? cause.message : String(cause));
    const said = `${visible(url.origin)}: ${visible(why)}`;
    return failed("reachable", said, "check the URL, the tunnel and --webhook-port");
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
