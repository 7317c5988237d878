import type { IncomingMessage } from "node:http";
import { invalid, problem, refuse } from "../http/refusal.ts";

const LOOPBACK_ADDRESS = /^(::1|127\.\d+\.\d+\.\d+|::ffff:127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_NAME = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

/** Whether `Host` names this machine and the very port that the request came in by. */
function isOwnHost(incoming: IncomingMessage): boolean {
  const [, name = "", port = "80"] = /^(.*?)(?::(\d+))?$/.exec(incoming.headers.host ?? "") ?? [];
  return LOOPBACK_NAME.test(name) && Number(port) === incoming.socket.localPort;
}

/** Whether the request comes from no page, from one of this very origin, or is a person's navigation to a page of it. */
function isOwnSite({ method, headers }: IncomingMessage): boolean {
  if (headers.origin !== undefined && headers.origin !== `http://${headers.host}`) return false;
  const site = headers["sec-fetch-site"];
  const isReading = method === "GET" || method === "HEAD";
  if (site === undefined || site === "same-origin") return true;
  return isReading && (site === "none" || headers["sec-fetch-mode"] === "navigate");
}

/**
 * Lets only this machine in, and no web page but the operator's own: neither one of another port or host that asks across
 * origins, nor one whose name was made to point at this machine. @throws Refusal 403
 */
export function assertOperator(incoming: IncomingMessage): void {
  const isLocal = LOOPBACK_ADDRESS.test(incoming.socket.remoteAddress ?? "") && isOwnHost(incoming);
  if (isLocal && isOwnSite(incoming)) return;
  throw refuse("PERMISSION_DENIED", "The operator's side answers on this machine only, and only its own page.");
}

/** A browser sends other types to any address without asking first. @throws Refusal 400 */
export function assertJson({ headers }: IncomingMessage): void {
  if (/^application\/json *(;|$)/i.test(headers["content-type"] ?? "")) return;
  throw invalid([problem("content-type", "must be application/json", "content_type")]);
}
