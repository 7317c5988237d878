import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "../../core/api/index.ts";
import { redactUrl } from "../../core/kit/clean-text.ts";
import { fetchForOperator, unreached } from "../../core/network/index.ts";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { explainError } from "../explain-error.ts";
import { wholeNumber } from "../input/flag-values.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { type Finding, failed, fine, unknown } from "./storage.ts";

const TIMEOUT_MS = 10_000;

export interface WebhookTarget {
  readonly url: URL;
  readonly port: number;
}

export function webhookTarget({ webhookUrl, webhookPort }: Flags["doctor"]): WebhookTarget | null {
  if (webhookUrl === undefined) return null;
  return { url: new URL(checkedUrl(webhookUrl)), port: checkedPort(webhookPort) };
}

export async function webhookFindings(
  context: Context,
  client: Client,
  target: WebhookTarget | null,
): Promise<readonly Finding[]> {
  const set = await defaultWebhook(context, client);
  if (target === null) {
    const how = "showrunner doctor --webhook-url https://… --webhook-port 8080   (opens the port briefly)";
    return [set, unknown("reachable", "not checked, because no public URL for this machine was given", how)];
  }
  return [set, await reachable(target)];
}

async function defaultWebhook({ io }: Context, client: Client): Promise<Finding> {
  try {
    const { url, enabled } = await client.webhooks.default.get();
    if (!url) return fine("webhooks", "no default webhook is set; runs follow their jobs by streaming and polling");
    const said = `${enabled ? "sent to" : "set but disabled:"} ${visible(redactUrl(url))}`;
    return {
      ...fine("webhooks", said),
      next: enabled ? "showrunner api POST /webhooks/default/test   (makes the service send a test webhook)" : null,
    };
  } catch (error) {
    const { message } = explainError(error, { env: io.env });
    return /NOT_FOUND|404/.test(message)
      ? fine("webhooks", "no default webhook is set; runs follow their jobs by streaming and polling")
      : unknown("webhooks", message);
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
    const answer = await fetchForOperator(url, {
      method: "POST",
      headers: { "x-showrunner-doctor": word },
      signal,
    });
    await answer.body?.cancel();
    return isHeard
      ? fine("reachable", `${visible(url.origin)} reaches port ${own} on this machine`)
      : failed(
          "reachable",
          `${visible(url.origin)} answered ${answer.status}, but the request did not reach port ${own} here`,
          "check which port the URL forwards to",
        );
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = unreached(error, url.href) ?? (cause instanceof Error ? cause.message : String(cause));
    return failed(
      "reachable",
      `${visible(url.origin)}: ${visible(why)}`,
      "check the URL, its tunnel and --webhook-port",
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function checkedUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw usageError(
    `--webhook-url ${visible(text)} is not an HTTP URL`,
    "use the https:// URL that the service would call",
  );
}

function checkedPort(text: string | undefined): number {
  if (text !== undefined) return wholeNumber("--webhook-port", text, [1, 65_535], 8080);
  throw usageError(
    "--webhook-url needs --webhook-port, the port on this machine that it forwards to",
    "add --webhook-port 8080",
  );
}
