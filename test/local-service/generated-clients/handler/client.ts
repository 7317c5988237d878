/** Runs a handler's pipelines with openapi-typescript's types and openapi-fetch. */
import createClient from "openapi-fetch";
import type { components, paths } from "../generated/handler-api.js";

type Run = components["schemas"]["Run"];

export interface Found {
  readonly expected: string;
  readonly started: readonly (string | null | undefined)[];
  readonly isSame: boolean;
  readonly listed: readonly (string | null)[];
  readonly waiting: readonly string[];
  readonly ended: Run["status"];
  readonly spent: string;
  readonly refused: readonly [number, string | undefined];
}

/** Uses a handler's pipelines. `settled` waits until a run is paused or has ended. */
export async function run(
  fetch: (request: Request) => Promise<Response>,
  settled: (id: string) => Promise<void>,
): Promise<Found> {
  const client = createClient<paths>({ baseUrl: "http://films.test/api", fetch });
  const input: components["schemas"]["picked.input"] = { prompt: "grey" };
  const quoted = await client.POST("/picked/quote", { body: { input } });
  const start = () =>
    client.POST("/picked/runs", {
      params: { header: { "Idempotency-Key": "typed" } },
      body: { input, title: "typed", quote: quoted.data!.id },
    });
  const [first, again] = [await start(), await start()];
  const id = first.data!.id;
  await settled(id);
  const params = { path: { run: id } };
  const shown = await client.GET("/runs/{run}", { params });
  const waiting = shown.data!.waiting.map(({ step }) => step);
  await client.POST("/runs/{run}/decisions", { params, body: { step: waiting[0]!, approve: true, pick: 1 } });
  await settled(id);
  const ended = await client.GET("/runs/{run}", { params });
  const list = await client.GET("/runs", { params: { query: { limit: 5 } } });
  const none = await client.GET("/runs/{run}", { params: { path: { run: "none" } } });
  return {
    expected: quoted.data!.total.expected,
    started: [first.data?.title, again.data?.title],
    isSame: again.data?.id === id,
    listed: list.data!.runs.map((one) => one.title),
    waiting,
    ended: ended.data!.status,
    spent: ended.data!.cost,
    refused: [none.response.status, none.error?.error.code],
  };
}
