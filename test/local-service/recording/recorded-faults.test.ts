import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../../src/index.ts";
import { PIXEL } from "../../support/tiny-media.ts";
import { answer, Bench, type Script } from "./support/scripted.ts";

const bench = new Bench();
afterEach(() => bench.end());

const submit = { input: { prompt: "a kettle" } };
const ack = (id: string) => ({ job_id: id, model: "image-1", status: "IN_QUEUE" });
const unavailable = { error: { code: "UNAVAILABLE", message: "later", retryable: true, retry_after: 7 } };

const acked = (id: string): Script => {
  return (_, outgoing) => answer(outgoing, 202, ack(id));
};

/** Answers in turn. */
function inTurn(...scripts: Script[]): Script {
  return (incoming, outgoing) => scripts.shift()!(incoming, outgoing);
}

test("a recorded 503 is answered again, each in its turn, and waits only at real speed", async () => {
  const folder = await bench.folder();
  const refused: Script = (_, outgoing) => answer(outgoing, 503, unavailable, { "retry-after": "7" });
  const proxy: Script = (_, outgoing) => void outgoing.writeHead(503, { "content-type": "text/html" }).end("<p>busy");
  const script = inTurn(refused, acked("job_1"), refused, proxy, acked("job_2"));
  await bench.record(folder, await bench.service(script), async (ask) => {
    for (let turn = 0; turn < 5; turn++) await ask("/models/image-1", submit);
  });
  for (const [speed, wait] of [
    ["fast", 0],
    ["real", 7],
  ] as const) {
    const { ask } = await bench.replay(folder, speed);
    const got = [];
    for (let turn = 0; turn < 6; turn++) got.push(await ask("/models/image-1", submit));
    expect(got.map(({ status }) => status)).toEqual([503, 202, 503, 503, 202, 202]);
    expect(got[0]!.headers.get("retry-after")).toBe(String(wait));
    expect(JSON.parse(got[0]!.text)).toMatchObject({ error: { code: "UNAVAILABLE", retry_after: wait } });
    expect(got[3]!.text).toBe("<p>busy");
    expect(JSON.parse(got[4]!.text)).toMatchObject({ job_id: "job_2" });
  }
});

const frame = (id: string, status: string) =>
  `event: status\nid: ${id}\ndata: ${JSON.stringify({ job_id: "job_1", status, progress: null })}\n\n`;

/** A stream that ends after these texts, or breaks off there. */
function stream(text: string, isCut: boolean): Script {
  return (_, outgoing) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    if (!isCut) outgoing.end(text);
    else outgoing.write(`${text}: a comment\n\n`, () => setImmediate(() => outgoing.destroy()));
  };
}

test("a cut stream is cut again where it was, without the half frame, and the next connection goes on", async () => {
  const folder = await bench.folder();
  const whole = `${frame("0.2", "COMPLETED")}event: done\ndata: [STREAM_DONE]\n\n`;
  const half = frame("0.1", "IN_QUEUE") + frame("0.2", "COMPLETED").slice(0, -9);
  const torn: Script = (_, outgoing) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write(half, () => setImmediate(() => outgoing.destroy()));
  };
  const script = inTurn(acked("job_1"), torn, stream("", true), stream(whole, false));
  await bench.record(folder, await bench.service(script), async (ask) => {
    await ask("/models/image-1", submit);
    for (const isCut of [true, true, false]) expect((await ask("/jobs/job_1/stream")).isCut).toBe(isCut);
  });
  const { ask } = await bench.replay(folder);
  await ask("/models/image-1", submit);
  const got = [];
  for (let turn = 0; turn < 3; turn++) got.push(await ask("/jobs/job_1/stream"));
  expect(got.map(({ text, isCut }) => ({ text, isCut }))).toEqual([
    { text: frame("0.1", "IN_QUEUE"), isCut: true },
    { text: "", isCut: true },
    { text: whole, isCut: false },
  ]);
});

test("an answer that broke off and is no stream is not recorded", async () => {
  const folder = await bench.folder();
  const script: Script = (_, outgoing) => {
    outgoing.writeHead(200, { "content-type": "application/json", "content-length": "100" });
    outgoing.write('{"balance":', () => setImmediate(() => outgoing.destroy()));
  };
  await bench.record(folder, await bench.service(script), async (ask) => {
    expect(await ask("/balance")).toMatchObject({ isCut: true });
  });
  const { service, ask } = await bench.replay(folder);
  expect(await ask("/balance")).toMatchObject({ status: 404 });
  expect(service.stats().unrecorded).toEqual(["GET /balance"]);
});

test("each call whose recording is absent is refused by name, also of a job that is recorded", async () => {
  const folder = await bench.folder();
  await bench.record(folder, await bench.service(acked("job_1")), (ask) => ask("/models/image-1", submit));
  const { service, ask } = await bench.replay(folder);
  await ask("/models/image-1", submit);
  const absent = ["/jobs/job_1", "/jobs/job_1/status", "/jobs/job_1/stream", "/jobs/job_2", "/models?limit=3"];
  for (const path of absent) {
    const { status, text } = await ask(path);
    expect(status).toBe(404);
    expect(JSON.parse(text).error.message).toContain(`GET ${path} is not in the recording ${folder}`);
  }
  expect(service.stats().unrecorded).toEqual(absent.map((path) => `GET ${path}`));
});

test("at real speed a job stands as it stood so long after its submit, polled and streamed", async () => {
  const request = "GET /jobs/job_1/stream";
  const folder = await recorded(
    [
      { at: 1_100, request: "GET /jobs/job_1/status", more: stood("IN_QUEUE") },
      { at: 31_000, request, more: { events: [], cut: true } },
      { at: 61_000, request, more: { events: [{ event: "status", data: stood("COMPLETED").answer }] } },
      { at: 61_000, request: "GET /jobs/job_1/status", more: stood("COMPLETED") },
    ],
    1_000,
  );
  const { service, ask } = await bench.replay(folder, "real");
  service.clock.manual();
  await ask("/models/image-1", submit);
  const status = async () => JSON.parse((await ask("/jobs/job_1/status")).text).status;
  const follow = async () => {
    const headers = { authorization: `Key ${service.apiKey}` };
    const { body } = await fetch(`${service.baseUrl}/jobs/job_1/stream`, { headers });
    const followed = { isOver: false, text: new Response(body).text() };
    followed.text.catch(() => {}).finally(() => Object.assign(followed, { isOver: true }));
    return followed;
  };
  const cut = await follow();
  expect(await status()).toBe("IN_QUEUE");
  expect(cut.isOver).toBe(false);
  await service.clock.advance(30_000);
  await expect(cut.text).rejects.toThrow();
  const streamed = await follow();
  await service.clock.advance(29_999);
  expect(await status()).toBe("IN_QUEUE");
  expect(streamed.isOver).toBe(false);
  await service.clock.advance(1);
  expect(await streamed.text).toContain("COMPLETED");
  expect(await status()).toBe("COMPLETED");
});

interface Answered {
  readonly at: number;
  readonly request: string;
  readonly more: object;
}

/** A recording of one job that was submitted at this time, with the answers to it. */
async function recorded(answers: readonly Answered[], submittedAt = 0) {
  const folder = await bench.folder();
  const lines = [
    { recording: 1, service: "https://x.test/v3", started_at: "2026-01-01T00:00:00.000Z" },
    {
      at_ms: submittedAt,
      request: "POST /models/image-1",
      status: 202,
      headers: {},
      body: submit,
      answer: ack("job_1"),
    },
    ...answers.map(({ at, request, more }) => ({ at_ms: at, request, status: 200, headers: {}, ...more })),
  ];
  await writeFile(join(folder, "recording.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return folder;
}
const stood = (status: string) => ({ answer: { job_id: "job_1", status } });

test("at real speed nothing is answered before it is due, whichever way it is asked for", async () => {
  const folder = await recorded([
    { at: 10_000, request: "GET /jobs/job_1/status", more: stood("COMPLETED") },
    { at: 10_000, request: "GET /jobs/job_1", more: stood("COMPLETED") },
  ]);
  const { service, ask } = await bench.replay(folder, "real");
  service.clock.manual();
  await ask("/models/image-1", submit);
  const statuses = async () => {
    const all = await Promise.all(["/jobs/job_1/status", "/jobs/job_1"].map((path) => ask(path)));
    return all.map(({ text }) => JSON.parse(text).status);
  };
  expect(await statuses()).toEqual(["IN_QUEUE", "IN_QUEUE"]);
  await service.clock.advance(9_999);
  expect(await statuses()).toEqual(["IN_QUEUE", "IN_QUEUE"]);
  await service.clock.advance(1);
  expect(await statuses()).toEqual(["COMPLETED", "COMPLETED"]);
});

test.each(["fast", "real"] as const)(
  "a recording that stops before its job ended says so once it has said all, at %s speed",
  async (speed) => {
    const folder = await recorded([{ at: 10_000, request: "GET /jobs/job_1/status", more: stood("IN_PROGRESS") }]);
    await appendFile(join(folder, "recording.jsonl"), '{"at_ms":20000,"request":"GET /jo');
    const { service, ask } = await bench.replay(folder, speed);
    service.clock.manual();
    await ask("/models/image-1", submit);
    const first = await ask("/jobs/job_1/status");
    expect(JSON.parse(first.text).status).toBe(speed === "fast" ? "IN_PROGRESS" : "IN_QUEUE");
    await service.clock.advance(10_000);
    for (const path of ["/jobs/job_1/status", "/jobs/job_1"]) {
      const { status, text } = await ask(path);
      const { message } = JSON.parse(text).error;
      expect([path, status, message.includes(`The recording ${folder}`)]).toEqual([path, 410, true]);
      expect(message).toMatch(/\(its last line, \d+, is cut off\) stops before job job_1 ends/);
    }
  },
);

test("an upload matches by its bytes, also one that an earlier recorder of the folder saw", async () => {
  const folder = await bench.folder();
  let count = 0;
  const hosted = await bench.service(({ url, headers: { host } }, outgoing) => {
    const id = `${++count}`;
    if (!url?.endsWith("/files")) return answer(outgoing, 202, ack(`job_${id}`));
    const expires_at = "2999-01-01T00:00:00Z";
    answer(outgoing, 201, { url: `http://${host}/uploads/${id}?sig=s`, content_type: "image/png", expires_at });
  });
  const film = (url: string, prompt: string) => {
    return { model: "video-1", input: { start_image: url, prompt }, idempotencyKey: prompt + url };
  };
  const clientOf = (baseUrl: string, apiKey = "k:recorded-0123456789") => {
    const client = createClient({ baseUrl, apiKey });
    bench.later(() => client.close());
    return client;
  };
  const upload = async (client: ReturnType<typeof clientOf>, bytes: Uint8Array) => (await client.upload({ bytes })).url;
  const handles: string[] = [];
  await bench.record(folder, hosted, async (_, baseUrl) => {
    for (let copy = 0; copy < 2; copy++) handles.push(await upload(clientOf(baseUrl), PIXEL));
    await clientOf(baseUrl).submit(film(handles[0]!, "first"));
  });
  // What a run uploaded before it was killed it sends again from its journal, by handle.
  await bench.record(folder, hosted, async (_, baseUrl) => {
    await clientOf(baseUrl).submit(film(handles[1]!, "second"));
  });
  const { service } = await bench.replay(folder);
  const client = clientOf(service.baseUrl, service.apiKey);
  const same = await upload(client, PIXEL);
  expect(await client.submit(film(same, "first"))).toMatchObject({ jobId: "job_3" });
  expect(await client.submit(film(same, "second"))).toMatchObject({ jobId: "job_4" });
  const other = await upload(client, Buffer.concat([PIXEL, Buffer.from("x")]));
  const differs = /not in the recording .*differs in input\.start_image/;
  await expect(client.submit(film(other, "first"))).rejects.toThrow(differs);
});
