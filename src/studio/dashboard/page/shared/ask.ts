import { json, send } from "../state/api.ts";

/** The link's token is in the page's address, after the `#`. */
export function ask<T>(path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${location.hash.slice(1)}`, "content-type": "application/json" };
  const init = body === undefined ? {} : json(body);
  return send<T>(
    `/shared/api/${path}`,
    { ...init, headers },
    "The server cannot be reached. Check your connection; nothing was lost.",
  );
}
