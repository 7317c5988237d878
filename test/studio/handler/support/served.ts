import { z } from "zod";
import { models } from "../../../../recipes/models.ts";
import { file, pipeline, type Showrunner } from "../../../../src/index.ts";
import {
  type Caller,
  type CallerDocument,
  createHandler,
  type Handler,
  type HandlerOptions,
  type QuoteDocument,
} from "../../../../src/studio/handler/index.ts";

export const still = pipeline("still", {
  input: z.object({ prompt: z.string().min(1).max(500), photo: file("image").optional() }),
  build: ({ job, upload, input }) => {
    const photo = input.photo === undefined ? {} : { image: upload("photo", input.photo) };
    void photo;
    return { still: job("still", models.image, { prompt: input.prompt }) };
  },
});

/** A pipeline with two takes, from which a person picks one. */
export const picked = pipeline("picked", {
  input: z.object({ prompt: z.string().default("grey") }),
  build: ({ takes, input }) => ({
    look: takes("look", models.image, { prompt: input.prompt }, { count: 2, choose: "person", message: "Which?" }),
  }),
});

/** Authorizes the caller whose name is in a header; refuses requests without the header. */
export function byHeader(more: Partial<Caller> = {}): HandlerOptions["authorize"] {
  return (request) => {
    const customer = request.headers.get("Authorization")?.replace("Bearer ", "");
    return customer ? { tags: { customer }, budget: "1", ...more } : null;
  };
}

export interface Served {
  readonly handler: Handler;
  readonly defects: unknown[];
  send(path: string, init?: RequestInit & { readonly as?: string | null }): Promise<Response>;
  post(path: string, body: unknown, init?: RequestInit & { readonly as?: string | null }): Promise<Response>;
  start(key: string, input?: unknown, init?: { readonly as?: string; readonly at?: string }): Promise<CallerDocument>;
  /** The events of a run, as they come until its stream ends. */
  events(id: string, init?: RequestInit & { readonly as?: string }): Promise<string>;
  /** Waits until a run's status is one of these, or any final status. */
  until(id: string, ...statuses: readonly string[]): Promise<CallerDocument>;
}

export function serve(show: Showrunner, filesDir: string, more: Partial<HandlerOptions> = {}): Served {
  const defects: unknown[] = [];
  const own = { pipelines: { still, picked }, authorize: byHeader(), prefix: "/api", filesDir };
  const handler = createHandler(show, { ...own, onDefect: (error) => defects.push(error), ...more });
  const send: Served["send"] = (path, { as = "acme", ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (as !== null) headers.set("Authorization", `Bearer ${as}`);
    return handler(new Request(`http://films.test${path}`, { ...init, headers }));
  };
  const post: Served["post"] = (path, body, init = {}) => {
    const headers = { "Content-Type": "application/json", ...(init.headers as object) };
    return send(path, { ...init, method: "POST", headers, body: JSON.stringify(body) });
  };
  return {
    ...{ handler, defects, send, post },
    events: async (id, init) => textUntil(await send(`/api/runs/${id}/events`, init), () => false),
    async start(key, input = { prompt: "grey" }, { as = "acme", at = "still" } = {}) {
      const headers = { "Idempotency-Key": key };
      const { id: quote } = await quoteOf(await post(`/api/${at}/quote`, { input }, { as }));
      const response = await post(`/api/${at}/runs`, { input, quote }, { as, headers });
      if (!response.ok) throw new Error(await response.text());
      return (await response.json()) as CallerDocument;
    },
    async until(id, ...statuses) {
      for (;;) {
        const state = await show.follow(id).then((handle) => handle.result());
        if (statuses.length === 0 || statuses.includes(state.status)) break;
      }
      const customer = (await show.show(id)).tags.customer!;
      return (await (await send(`/api/runs/${id}`, { as: customer })).json()) as CallerDocument;
    },
  };
}

/** Reads a stream until its text satisfies the condition. */
export async function textUntil(response: Response, found: (text: string) => boolean): Promise<string> {
  const reader = response
    .body!.pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
    if (!found(text)) continue;
    await reader.cancel();
    return text;
  }
}

export function eventsIn(text: string): readonly { readonly id: number; readonly type: string }[] {
  return [...text.matchAll(/^id: (\d+)\nevent: event\ndata: (.*)$/gm)].map(([, id, data]) => ({
    id: Number(id),
    type: (JSON.parse(data!) as { readonly type: string }).type,
  }));
}

/** The header by which a repeated request is known. */
export const keyed = (key: string) => ({ headers: { "Idempotency-Key": key } });

export async function errorOf(response: Response): Promise<{
  readonly code: string;
  readonly message: string;
  readonly field: string | null;
  readonly reference: string | null;
}> {
  return ((await response.json()) as { readonly error: Awaited<ReturnType<typeof errorOf>> }).error;
}

export async function quoteOf(response: Response): Promise<QuoteDocument> {
  return (await response.json()) as QuoteDocument;
}
