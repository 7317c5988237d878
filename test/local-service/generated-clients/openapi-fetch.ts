/** Runs the main scenario with openapi-typescript's types and openapi-fetch. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient from "openapi-fetch";
import type { components, paths, webhooks } from "./generated/openapi-typescript.js";
import { type Found, type Refused, SECRET, type Setting } from "./scenario.js";

type Schemas = components["schemas"];
type Completed = webhooks["job.completed"]["post"]["requestBody"]["content"]["application/json"];

const clientOf = (baseUrl: string, key: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

interface Answered<T> {
  readonly data?: T;
  readonly error?: Schemas["ErrorResponse"];
  readonly response: Response;
}

function dataOf<T>({ data, error, response }: Answered<T>): T {
  if (data === undefined) throw new Error(`${response.url} answered ${response.status} ${error?.error.message}`);
  return data;
}

function refused({ error, response }: Answered<unknown>, more: (error: Schemas["ErrorObject"]) => Refused["more"]) {
  if (!error) throw new Error(`${response.url} answered ${response.status}, which is no error`);
  return { status: response.status, code: error.error.code, more: more(error.error) };
}

/** Narrows a chat response to the complete response, because openapi-fetch types it as any of its media types. */
function completed(chat: Schemas["ChatCompletion"] | Schemas["ChatCompletionStreamData"]): Schemas["ChatCompletion"] {
  if (typeof chat === "object" && "object" in chat && chat.object === "chat.completion") return chat;
  throw new Error("the answer was streamed");
}

/** Reads the frames of a job's stream, with types from the document. */
async function framesOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Schemas["JobStreamFrame"][]> {
  const frames: Schemas["JobStreamFrame"][] = [];
  for await (const { event, id, data } of body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())) {
    frames.push({ event, id, data: event === "done" ? data : JSON.parse(data) } as Schemas["JobStreamFrame"]);
  }
  return frames;
}

export async function run(setting: Setting): Promise<Found> {
  const client = clientOf(setting.baseUrl, setting.apiKey);
  const poor = clientOf(setting.baseUrl, setting.poorKey);

  const models = dataOf(await client.GET("/models", { params: { query: { modality: "video" } } })).data;
  const model = dataOf(await client.GET("/models/{model}", { params: { path: { model: "image-1" } } }));
  const input: Schemas["Image1Input"] = { prompt: "a lighthouse", quality: "pro", num_outputs: 2 };
  const asked = { params: { path: { model: "image-1" } }, body: { input } };
  const estimate = dataOf(await client.POST("/models/{model}/estimate", asked));

  const ack = dataOf(await client.POST("/models/image-1", { body: { input, idempotency_key: "openapi-fetch" } }));
  const path = { job_id: ack.job_id };
  const stream = await client.GET("/jobs/{job_id}/stream", { params: { path }, parseAs: "stream" });
  const frames = await framesOf(dataOf(stream) as ReadableStream<Uint8Array<ArrayBuffer>>);
  const status = dataOf(
    await client.GET("/jobs/{job_id}/status", { params: { path, query: { logs_after: "start" } } }),
  );
  const job = dataOf(await client.GET("/jobs/{job_id}", { params: { path } }));
  const downloaded = await Promise.all(
    job.outputs.map(async ({ url }) => (await (await fetch(url ?? "")).blob()).type),
  );

  const uploaded = dataOf(
    await client.POST("/files", {
      body: { file: "" },
      bodySerializer() {
        const form = new FormData();
        form.append("file", new Blob([setting.picture]));
        return form;
      },
    }),
  );
  const image = { source: "url" as const, url: uploaded.url };
  const enlarged = dataOf(await client.POST("/models/upscale-1", { body: { input: { image } } }));

  // @ts-expect-error no output has this field
  job.outputs.map(({ link }) => link);
  // @ts-expect-error a duration between the steps
  const odd = await client.POST("/models/video-1", { body: { input: { aspect_ratio: "16:9", duration_ms: 3500 } } });
  const unfunded = await poor.POST("/models/image-1", { body: { input } });
  const moderated = await client.POST("/models/image-1", { body: { input: { prompt: "moderation-refused" } } });
  const unknown = await client.GET("/jobs/{job_id}", { params: { path: { job_id: "job_unknown" } } });
  setting.refuseNext("GET /balance", "RESOURCE_EXHAUSTED");
  const limited = await client.GET("/balance");
  const refusals = [
    refused(odd, ({ details }) => details?.map(({ field }) => field).join(" ")),
    refused(unfunded, ({ billing }) => billing?.required),
    refused(moderated, ({ param }) => param),
    refused(unknown, ({ retryable }) => String(retryable)),
    refused(limited, ({ retry_after }) => retry_after),
  ];

  const key = dataOf(await client.POST("/keys", { body: { name: "second", scopes: ["jobs:read"] } }));
  const keyPath = { params: { path: { key_id: key.key_id } } };
  const rotated = dataOf(
    await client.POST("/keys/{key_id}/rotate", { ...keyPath, body: { grace_period_seconds: 60 } }),
  );
  await client.DELETE("/keys/{key_id}", keyPath);
  const keys = dataOf(await client.GET("/keys")).data;

  const hook = dataOf(await client.PUT("/webhooks/default", { body: { url: setting.hookUrl } }));
  const tested = dataOf(await client.POST("/webhooks/default/test"));
  const announcedJob = dataOf(await client.POST("/models/image-1", { body: { input: { prompt: "announced" } } }));
  const [, announced] = (await setting.arrived(2)).map((text) => JSON.parse(text) as Completed);
  await client.DELETE("/webhooks/default");

  const drained = { name: "logs", url: setting.hookUrl, secret: SECRET };
  const drain = dataOf(await client.POST("/log-drains", { body: drained }));
  const drainPath = { params: { path: { drain_id: drain.id } } };
  const paused = dataOf(await client.PATCH("/log-drains/{drain_id}", { ...drainPath, body: { enabled: false } }));
  await client.DELETE("/log-drains/{drain_id}", drainPath);
  const drains = dataOf(await client.GET("/log-drains")).data;

  const chat = dataOf(
    await client.POST("/chat/completions", {
      body: { model: "chat-1", messages: [{ role: "user", content: "Hello." }] },
    }),
  );

  return {
    models: models.map(({ id }) => id),
    required: model.input_schema["required"] as string[],
    estimated: estimate.cost ?? null,
    charged: job.cost,
    enlarged: enlarged.status,
    statuses: [
      frames.flatMap((frame) => (frame.event === "status" ? frame.data.status : [])).at(-1) ?? "",
      status.status,
    ],
    events: frames.flatMap((frame) => (frame.event === "log" ? frame.data.event : [])),
    ended: frames.at(-1)?.event === "done" && status.logs?.at(-1)?.event === "completed",
    downloaded,
    refusals,
    key: {
      scopes: key.scopes,
      rotated: rotated.credential !== key.credential,
      left: keys.some((one) => one.key_id === key.key_id && one.status === "active"),
    },
    hook: { url: hook.url, enabled: hook.enabled, tested: tested.ok },
    announced: [announced?.job_id === announcedJob.job_id ? "same" : "other", announced?.status ?? ""],
    drain: { format: drain.format, paused: paused.disabled_reason, left: drains.length > 0 },
    said: completed(chat).choices[0]?.message.role ?? "",
  };
}
