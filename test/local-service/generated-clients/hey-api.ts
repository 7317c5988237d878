/** Runs the main scenario with a client that @hey-api/openapi-ts generated. */
import { createClient, createConfig } from "./generated/hey-api/client/index.js";
import * as sdk from "./generated/hey-api/sdk.gen.js";
import type {
  ErrorObject,
  ErrorResponse,
  Image1Input,
  JobCompletedEvent,
  JobStreamData,
} from "./generated/hey-api/types.gen.js";
import { type Found, type Refused, SECRET, type Setting } from "./scenario.js";

const clientOf = (baseUrl: string, key: string) => createClient(createConfig({ baseUrl, auth: key }));

interface Answered {
  readonly error?: ErrorResponse | undefined;
  readonly response?: Response | undefined;
}

function refused({ error, response }: Answered, more: (error: ErrorObject) => Refused["more"]): Refused {
  if (!error) throw new Error(`${response?.url} answered ${response?.status}, which is no error`);
  return { status: response?.status ?? 0, code: error.error.code, more: more(error.error) };
}

async function collected(stream: AsyncIterable<JobStreamData>): Promise<JobStreamData[]> {
  const all: JobStreamData[] = [];
  for await (const data of stream) all.push(data);
  return all;
}

const isEnd = (data: JobStreamData | undefined) => data === "[STREAM_DONE]";

export async function run(setting: Setting): Promise<Found> {
  const client = clientOf(setting.baseUrl, setting.apiKey);
  const poor = clientOf(setting.baseUrl, setting.poorKey);
  const sure = { client, throwOnError: true } as const;

  const { data: models } = await sdk.listModels({ ...sure, query: { modality: "video" } });
  const { data: model } = await sdk.getModel({ ...sure, path: { model: "image-1" } });
  const input: Image1Input = { prompt: "a lighthouse", quality: "pro", num_outputs: 2 };
  const { data: estimate } = await sdk.estimateJob({ ...sure, path: { model: "image-1" }, body: { input } });

  const { data: ack } = await sdk.submitImage1({ ...sure, body: { input, idempotency_key: "hey-api" } });
  const path = { job_id: ack.job_id };
  const frames = await collected((await sdk.streamJob({ client, path })).stream);
  const { data: status } = await sdk.getJobStatus({ ...sure, path, query: { logs_after: "start" } });
  const { data: job } = await sdk.getJob({ ...sure, path });
  const downloaded = await Promise.all(
    job.outputs.map(async ({ url }) => (await (await fetch(url ?? "")).blob()).type),
  );

  const { data: uploaded } = await sdk.uploadFile({ ...sure, body: { file: new Blob([setting.picture]) } });
  const image = { source: "url" as const, url: uploaded.url };
  const { data: enlarged } = await sdk.submitUpscale1({ ...sure, body: { input: { image } } });

  // @ts-expect-error no output has this field
  job.outputs.map(({ link }) => link);
  // @ts-expect-error a duration between the steps
  const odd = await sdk.submitVideo1({ client, body: { input: { aspect_ratio: "16:9", duration_ms: 3500 } } });
  const unfunded = await sdk.submitImage1({ client: poor, body: { input } });
  const moderated = await sdk.submitImage1({ client, body: { input: { prompt: "moderation-refused" } } });
  const unknown = await sdk.getJob({ client, path: { job_id: "job_unknown" } });
  setting.refuseNext("GET /balance", "RESOURCE_EXHAUSTED");
  const limited = await sdk.getBalance({ client });
  const refusals = [
    refused(odd, ({ details }) => details?.map(({ field }) => field).join(" ")),
    refused(unfunded, ({ billing }) => billing?.required),
    refused(moderated, ({ param }) => param),
    refused(unknown, ({ retryable }) => String(retryable)),
    refused(limited, ({ retry_after }) => retry_after),
  ];

  const { data: key } = await sdk.createKey({ ...sure, body: { name: "second", scopes: ["jobs:read"] } });
  const keyPath = { key_id: key.key_id };
  const { data: rotated } = await sdk.rotateKey({ ...sure, path: keyPath, body: { grace_period_seconds: 60 } });
  await sdk.revokeKey({ ...sure, path: keyPath });
  const { data: keys } = await sdk.listKeys(sure);

  const { data: hook } = await sdk.setWebhookDefault({ ...sure, body: { url: setting.hookUrl } });
  const { data: tested } = await sdk.testWebhookDefault(sure);
  const { data: announcedJob } = await sdk.submitImage1({ ...sure, body: { input: { prompt: "announced" } } });
  const [, announced] = (await setting.arrived(2)).map((text) => JSON.parse(text) as JobCompletedEvent);
  await sdk.deleteWebhookDefault(sure);

  const { data: drain } = await sdk.createLogDrain({
    ...sure,
    body: { name: "logs", url: setting.hookUrl, secret: SECRET },
  });
  const drainPath = { drain_id: drain.id };
  const { data: paused } = await sdk.updateLogDrain({ ...sure, path: drainPath, body: { enabled: false } });
  await sdk.deleteLogDrain({ ...sure, path: drainPath });
  const { data: drains } = await sdk.listLogDrains(sure);

  const { data: chat } = await sdk.createChatCompletion({
    ...sure,
    body: { model: "chat-1", messages: [{ role: "user", content: "Hello." }] },
  });

  return {
    models: models.data.map(({ id }) => id),
    required: model.input_schema["required"] as string[],
    estimated: estimate.cost ?? null,
    charged: job.cost,
    enlarged: enlarged.status,
    statuses: [
      frames.flatMap((data) => (typeof data === "object" && "progress" in data ? data.status : [])).at(-1) ?? "",
      status.status,
    ],
    events: frames.flatMap((data) => (typeof data === "object" && "event" in data ? data.event : [])),
    ended: isEnd(frames.at(-1)) && status.logs?.at(-1)?.event === "completed",
    downloaded,
    refusals,
    key: {
      scopes: key.scopes,
      rotated: rotated.credential !== key.credential,
      left: keys.data.some((one) => one.key_id === key.key_id && one.status === "active"),
    },
    hook: { url: hook.url, enabled: hook.enabled, tested: tested.ok },
    announced: [announced?.job_id === announcedJob.job_id ? "same" : "other", announced?.status ?? ""],
    drain: { format: drain.format, paused: paused.disabled_reason, left: drains.data.length > 0 },
    said: chat.choices[0]?.message.role ?? "",
  };
}
