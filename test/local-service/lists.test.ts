import { expect, test } from "vitest";
import type { LocalService } from "../../src/local-service/index.ts";
import { words } from "../support/word-list.ts";
import { drain } from "./support/drains.ts";
import {
  type Body,
  chat,
  finished,
  get,
  made,
  post,
  read,
  refusal,
  start,
  startHeld,
  submit,
} from "./support/service.ts";

const submitOne = (service: LocalService, more = {}) => submit(service, "image-1", { prompt: "x" }, more);

test.each([
  ["/jobs", "job_id", submitOne],
  ["/webhooks/deliveries", "job_id", (service: LocalService) => submitOne(service, { webhook: "http://127.0.0.1:9/" })],
  ["/log-drains", "id", (service: LocalService) => drain(service, { url: "https://example.com/logs" })],
])(
  "pages of %s are newest first, complete and without repeats while more arrive [P13 P14 P15 WC3 WM3]",
  async (path, id, add) => {
    const service = await startHeld({ speed: 1 });
    const ids: string[] = [];
    for (let index = 0; index < 25; index++) ids.push((await add(service))[id]);
    expect((await read(service, path)).data).toHaveLength(20);
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const { body }: Body = await get(service, `${path}?limit=10${cursor === "" ? "" : `&cursor=${cursor}`}`);
      seen.push(...body.data.map((row: Body) => row[id]));
      cursor = body.next_cursor;
      await add(service);
    }
    expect(seen).toEqual(ids.toReversed());
  },
);

test("jobs are listed by model too, those of a chat model before and after the first", async () => {
  const service = await start();
  const { job_id } = await submitOne(service);
  expect((await read(service, "/models/image-1/jobs")).data).toMatchObject([{ job_id }]);
  for (const model of ["video-1", "chat-1"])
    expect(await read(service, `/models/${model}/jobs`)).toEqual({ data: [], next_cursor: null });
  const { id } = (await chat(service, "hello")).body;
  expect((await read(service, "/models/chat-1/jobs")).data).toMatchObject([{ job_id: id, model: "chat-1" }]);
  expect((await get(service, "/models/chat-2/jobs")).status).toBe(404);
});

test("limit 0, 101 or text, and a foreign cursor, are 400 on every paged endpoint [L7 P11 P12 P13]", async () => {
  const service = await start();
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  const paged = ["/jobs", `/jobs/${job_id}/logs`, "/models/image-1/jobs", "/models/speech-1/voices", "/keys"];
  paged.push("/webhooks/deliveries", "/log-drains", "/transactions", "/usage/llm");
  for (const path of paged) {
    for (const limit of ["0", "101", "ten", "-1", "1.5", ""]) {
      const reply = await get(service, `${path}?limit=${limit}`);
      expect([path, limit, reply.status, reply.body.error?.param]).toEqual([path, limit, 400, "limit"]);
    }
    expect((await read(service, `${path}?cursor=abc`)).error.param).toBe("cursor");
    expect((await get(service, `${path}?limit=100`)).status).toBe(200);
  }
});

test("logs are paged oldest first [N17 P25 WC3 WJ21]", async () => {
  const service = await start();
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  const first = await read(service, `/jobs/${job_id}/logs?limit=4`);
  expect(first.data.map((item: Body) => item.id)).toEqual([1, 2, 3, 4]);
  const second = await read(service, `/jobs/${job_id}/logs?limit=4&cursor=${first.next_cursor}`);
  expect(second.data.map((item: Body) => item.event)).toEqual(["finalizing", "download.ready", "completed"]);
  expect(second.next_cursor).toBeNull();
});

const KNOWN_EVENTS = words(`
  queued started moderation.passed provider.submitted provider.error retry.scheduled progress finalizing
  download.ready completed failed recovered
`);

test("a page of logs has 20 events by default, and a job shows its latest 100, oldest first [L8 P25 WJ5 WJ9 WJ10]", async () => {
  const outputs = 120;
  const many = {
    id: "many-1",
    modality: "image",
    name: "Many",
    input_schema: {
      type: "object",
      additionalProperties: false,
      properties: { prompt: { type: "string" }, num_outputs: { type: "integer", minimum: 1, maximum: outputs } },
    },
  };
  const service = await start({ catalog: [many], balance: 1000 });
  service.faults([{ kind: "fail_output", outputs: Array.from({ length: 100 }, (_, position) => position) }]);
  const { job_id, logs } = await made(service, "many-1", { prompt: "x", num_outputs: outputs });
  const page = async (query: string) => await read(service, `/jobs/${job_id}/logs${query}`);
  expect((await page("")).data).toHaveLength(20);
  const all: Body[] = [];
  for (let next: Body = await page("?limit=100"); ; next = await page(`?limit=100&cursor=${next.next_cursor}`)) {
    all.push(...next.data);
    if (next.next_cursor === null) break;
  }
  expect(all.map(({ id }) => id)).toEqual(all.map((_, index) => index + 1));
  expect(all.length).toBeGreaterThan(100);
  expect(logs).toEqual(all.slice(-100));
  expect(KNOWN_EVENTS).toEqual(expect.arrayContaining(all.map(({ event }) => event)));
});

test("usage counts jobs and net spending by total, day and model [WA5]", async () => {
  const service = await startHeld();
  const first = await submit(service, "image-1", { prompt: "a" });
  await finished(service, first.job_id);
  await service.clock.advance(86_400_000);
  await finished(service, (await submit(service, "image-1", { prompt: "b", num_outputs: 2 })).job_id);
  service.faults([{ kind: "fail_job" }]);
  await made(service, "video-1", { prompt: "c", aspect_ratio: "1:1", duration_ms: 3000 });
  const total = await read(service, "/usage");
  expect(total).toMatchObject({ group_by: "total", total_jobs: 3, total_spent: 0.06, currency: "USD" });
  expect(Date.parse(total.end) - Date.parse(total.start)).toBe(7 * 86_400_000);
  expect((await read(service, "/usage?group_by=model")).data).toEqual([
    { key: "image-1", jobs: 2, spent: 0.06, requests: 0 },
    { key: "video-1", jobs: 1, spent: 0, requests: 0 },
  ]);
  const byDay = (await read(service, "/usage?group_by=day")).data;
  expect(byDay.map((row: Body) => row.jobs)).toEqual([1, 2]);
  const yesterday = new Date(service.clock.now() - 86_000_000).toISOString();
  expect((await read(service, `/usage?end=${yesterday}`)).total_jobs).toBe(1);
  for (const query of words(
    "group_by=hour start=monday start=2020-01-01&end=2020-06-01 start=2020-01-02&end=2020-01-01",
  ))
    expect([query, (await get(service, `/usage?${query}`)).status]).toEqual([query, 400]);
});

test("a cursor is good for the very list that returned it: of another list or job it is a 400 that names the cursor", async () => {
  const service = await start();
  const jobs = [];
  for (let index = 0; index < 3; index++) jobs.push(await made(service, "image-1", { prompt: `${index}` }));
  for (let index = 0; index < 2; index++) await post(service, "/keys", {});
  const [first, second] = jobs.map(({ job_id }) => `/jobs/${job_id}`);
  const lists = [
    ...words("/jobs /models/image-1/jobs /keys /models/speech-1/voices"),
    `${first}/logs`,
    `${second}/logs`,
  ];
  const cursors = new Map<string, string>();
  for (const path of lists) cursors.set(path, (await read(service, `${path}?limit=1`)).next_cursor);
  const polls = [`${first}/status`, `${second}/status`];
  for (const path of polls) cursors.set(path, (await read(service, `${path}?logs_after=start`)).logs_next_cursor);
  for (const path of [...lists, ...polls]) {
    const param = polls.includes(path) ? "logs_after" : "cursor";
    for (const [from, cursor] of cursors) {
      const reply = await get(service, `${path}?${param}=${cursor}`);
      const fits = from === path ? { status: 200 } : refusal(400, { code: "INVALID_ARGUMENT", param });
      expect(reply, `${path} by a cursor of ${from}`).toMatchObject(fits);
    }
  }
});
