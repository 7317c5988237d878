import { createParser } from "eventsource-parser";
import { cookieOf } from "./ask.ts";
import type { Served } from "./serve.ts";

export interface Heard {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

/** An open event stream of the dashboard, read like in a browser. */
export interface Listener extends AsyncDisposable {
  /** Returns the next event with this name and skips others. Rejects if the stream ends first. */
  next(event: string): Promise<Heard>;
}

export async function listen(
  served: Served,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Listener> {
  return streamOf(served.dashboard.origin + path, { cookie: await cookieOf(served.dashboard.url), ...headers });
}

export async function streamOf(url: string, headers: Readonly<Record<string, string>>): Promise<Listener> {
  const stop = new AbortController();
  const answer = await fetch(url, { headers, signal: stop.signal });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  const queue: Heard[] = [];
  const parser = createParser({
    onEvent: ({ event = "message", id, data }) => queue.push({ event, id, data: JSON.parse(data) }),
  });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  return {
    async next(event) {
      for (;;) {
        const found = queue.findIndex((heard) => heard.event === event);
        if (found >= 0) return queue.splice(0, found + 1).at(-1)!;
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended before ${event}`);
        parser.feed(value);
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reader.cancel().catch(() => {});
    },
  };
}
