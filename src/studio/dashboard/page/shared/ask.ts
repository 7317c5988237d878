import type { ErrorBody } from "../../views/document.ts";

/** What was refused, in the server's words. */
export class SharedRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Asks the server as who holds the link. Its token stays behind the `#` of the address and goes along as a header only. */
export async function ask<T>(path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${location.hash.slice(1)}`, "content-type": "application/json" };
  const posted = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(`/shared/api/${path}`, { headers, ...posted }).catch(() => {
    throw new SharedRefusal(0, "The server does not answer. Check your connection; nothing was lost.");
  });
  const found: unknown = await answer.json().catch(() => null);
  if (answer.ok) return found as T;
  const said = (found as ErrorBody | null)?.error.message;
  throw new SharedRefusal(answer.status, said ?? "The server's answer could not be read. Try again.");
}
