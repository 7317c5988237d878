import type { IncomingMessage } from "node:http";
import { invalid, problem, refuse } from "../http/refusal.ts";

const LOOPBACK_ADDRESS = /^(::1|127\.\d+\.\d+\.\d+|::ffff:127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_NAME = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

/** Whether `Host` names this machine and the port that received the request. */
function isOwnHost(incoming: IncomingMessage): boolean {
  const [, name = "", port = "80"] = /^(.*?)(?::(\d+))?$/.exec(incoming.headers.host ?? "") ?? [];
  return LOOPBACK_NAME.test(name) && Number(port) === incoming.socket.localPort;
}

/**
 * Whether the request comes from no page, from a page of the same origin, or is a person's navigation to such a page.
 */
function isOwnSite({ method, headers }: IncomingMessage): boolean {
  if (headers.origin !== undefined && headers.origin !== `http://${headers.host}`) return false;
  const site = headers["sec-fetch-site"];
  const isReading = method === "GET" || method === "HEAD";
  if (site === undefined || site === "same-origin") return true;
  return isReading && (site === "none" || headers["sec-fetch-mode"] === "navigate");
}

/**
 * Admits only this machine, and no web page but the operator's own: this refuses cross-origin requests and DNS
 * rebinding.
 * @throws Refusal 403
 */
export function assertOperator(incoming: IncomingMessage): void {
  const isLocal = LOOPBACK_ADDRESS.test(incoming.socket.remoteAddress ?? "") && isOwnHost(incoming);
  if (isLocal && isOwnSite(incoming)) return;
  throw refuse("PERMISSION_DENIED", "The operator's side answers on this machine only, and only its own page.");
}

/** Requires JSON: a browser sends simple content types to any address without a preflight. @throws Refusal 400 */
export function assertJson({ headers }: IncomingMessage): void {
  if (/^application\/json *(;|$)/i.test(headers["content-type"] ?? "")) return;
  throw invalid([problem("content-type", "must be application/json", "content_type")]);
}
