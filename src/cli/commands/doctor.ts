import { readFile } from "node:fs/promises";
import process from "node:process";
import { chooseService, isKeyOfV2, isUsableKey, keyCommand, keyIdOf, missingKey } from "../../core/kit/deployments.ts";
import { formatDuration } from "../../core/kit/duration.ts";
import { dollars } from "../../core/kit/money.ts";
import { namedProxy, noProxy, shownProxy } from "../../core/kit/proxy-route.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import {
  clockFinding,
  type Finding,
  failed,
  fine,
  journalFindings,
  mediaFindings,
  unknown,
} from "../doctor/storage.ts";
import { type WebhookTarget, webhookFindings, webhookTarget } from "../doctor/webhook.ts";
import { explainError } from "../explain-error.ts";
import type { Io } from "../io.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

/** Beyond this clock error, receivers may refuse webhooks as too old. */
const MUCH_SKEW_MS = 60_000;

export async function serviceFindings(
  context: Context,
  flags: ServiceFlags,
  target: WebhookTarget | null,
): Promise<readonly Finding[]> {
  try {
    return await withShowrunner(flags, async (show) => {
      const began = performance.now();
      const { balanceMicros, currency } = await show.balance();
      const took = formatDuration(performance.now() - began);
      const hosted = chooseService(flags, context.io.env);
      const name = (hosted !== null && "deployment" in hosted && hosted.deployment?.title) || show.service.kind;
      return [
        fine("service", `${name} ${show.service.baseUrl}, answered in ${took}`),
        fine("balance", `${dollars(balanceMicros)} ${currency}`),
        clockFinding("clock", "service", show.client.clockOffsetMs(), MUCH_SKEW_MS),
        ...(await webhookFindings(context, show.client, target)),
      ];
    });
  } catch (error) {
    const { message, next } = explainError(error, { env: context.io.env });
    return [
      failed("service", message, next),
      unknown("webhooks", "not checked, because the service could not be reached"),
    ];
  }
}

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
    ...(await networkFindings(context.io)),
    ...journal,
    ...media,
    await filmFinding(),
    ...(isUsable ? await serviceFindings(context, flags, target) : []),
  ];
  if (flags.json) output.printJson(findings.map((one) => ({ ...one, ok: one.state !== "fail" })));
  else for (const { check, state, detail } of findings) output.tell(`${marks[state]}  ${check.padEnd(10)}  ${detail}`);
  const advice = (failed: boolean) =>
    findings.flatMap(({ next, state }) => (next !== null && (state === "fail") === failed ? [next] : []));
  const cures = new Set(advice(true));
  if (cures.size > 0) output.next(...cures);
  for (const text of advice(false)) output.say(`To check: ${text}`);
  return findings.some(({ state }) => state === "fail") ? ExitCode.failed : ExitCode.done;
}

async function filmFinding(): Promise<Finding> {
  const { ffmpegSummary } = await import("../../film/index.ts");
  const ffmpeg = await ffmpegSummary();
  return "found" in ffmpeg ? fine("ffmpeg", ffmpeg.found) : unknown("ffmpeg", ffmpeg.lacks);
}

function credential({ io }: Context, flags: ServiceFlags): Finding {
  const hosted = chooseService(flags, io.env);
  if (hosted === null) {
    return fine(
      "credential",
      "none needed for the local service; for a hosted service, set SHOWRUNNER_SERVICE or SHOWRUNNER_BASE_URL",
    );
  }
  if ("problem" in hosted)
    return failed(
      "credential",
      `${hosted.setting} ${hosted.problem}`,
      `correct ${hosted.setting}, then: showrunner doctor`,
    );
  const { apiKey, keyFrom } = hosted;
  if (apiKey === null) return failed("credential", `${keyFrom} ${missingKey(hosted)}`, keyCommand(hosted));
  if (!isUsableKey(apiKey))
    return failed(
      "credential",
      `${keyFrom} must be <key_id>:<secret> or a token, without spaces or line breaks`,
      keyCommand(hosted),
    );
  if (isKeyOfV2(apiKey))
    return failed(
      "credential",
      `${keyFrom} contains a key of the previous API (v2), which begins with sk_`,
      `create a v3 key in the service's console, then: ${keyCommand(hosted)}`,
    );
  const keyId = keyIdOf(apiKey);
  return fine("credential", `${keyId === null ? "a token" : `key ${keyId}`}, from ${keyFrom}`);
}

async function networkFindings({ env }: Io): Promise<readonly Finding[]> {
  return [proxies(env), ...(await authorities(env))];
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
