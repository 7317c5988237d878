import type { IncomingMessage } from "node:http";
import { refuse } from "../http/refusal.ts";

const LOOPBACK_ADDRESS = /^(::1|127\.\d+\.\d+\.\d+|::ffff:127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;

function originHost(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : "";
}

/**
 * Lets only this machine in, and no web page from elsewhere: neither one that posts across origins nor one whose name
 * was made to point at this machine. @throws Refusal 403
 */
export function assertLoopback(incoming: IncomingMessage): void {
  const { host, origin } = incoming.headers;
  const isLocal = LOOPBACK_ADDRESS.test(incoming.socket.remoteAddress ?? "") && LOOPBACK_HOST.test(host ?? "");
  if (isLocal && (origin === undefined || LOOPBACK_HOST.test(originHost(origin)))) return;
  throw refuse("PERMISSION_DENIED", "The operator's side answers on this machine only.");
}
