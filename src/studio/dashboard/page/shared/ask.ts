import { json, send } from "../state/api.ts";

/** Asks the server as the holder of the link. The token stays behind the `#` of the address and is sent in a header only. */
export function ask<T>(path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${location.hash.slice(1)}`, "content-type": "application/json" };
  const init = body === undefined ? {} : json(body);
  return send<T>(
    `/shared/api/${path}`,
    { ...init, headers },
    "The server does not answer. Check your connection; nothing was lost.",
  );
}
