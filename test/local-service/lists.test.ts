import { expect, test } from "vitest";
import type { LocalService } from "../../src/local-service/index.ts";
import { drain } from "./support/drains.ts";
import { ask, type Body, finished, get, made, start, submit } from "./support/service.ts";

const submitOne = (service: LocalService, more = {}) => submit(service, "image-1", { prompt: "x" }, more);

test.each([
  ["/jobs", "job_id", submitOne],
  ["/webhooks/deliveries", "job_id", (service: LocalService) => submitOne(service, { webhook: "http://127.0.0.1:9/" })],
  ["/log-drains", "id", (service: LocalService) => drain(service, { url: "https://example.com/logs" })],
])(
  "pages of %s are newest first, complete and without repeats while more arrive [P13 P14 P15 WC3 WM3]",
  async (path, id, add) => {
    const service = await start({ speed: 1 });
    service.clock.manual();
    const ids: string[] = [];
    for (let index = 0; index < 25; index++) ids.push((await add(service))[id]);
    expect((await get(service, path)).body.data).toHaveLength(20);
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

test("jobs are listed by model too", async () => {
  const service = await start();
  const { job_id } = await submitOne(service);
  expect((await get(service, "/models/image-1/jobs")).body.data).toMatchObject([{ job_id }]);
  expect((await get(service, "/models/video-1/jobs")).body).toEqual({ data: [], next_cursor: null });
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
    expect((await get(service, `${path}?cursor=abc`)).body.error.param).toBe("cursor");
    expect((await get(service, `${path}?limit=100`)).status).toBe(200);
  }
});

test("logs are paged oldest first [N17 P25 WC3 WJ21]", async () => {
  const service = await start();
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  const first = (await get(service, `/jobs/${job_id}/logs?limit=4`)).body;
  expect(first.data.map((item: Body) => item.id)).toEqual([1, 2, 3, 4]);
  const second = (await get(service, `/jobs/${job_id}/logs?limit=4&cursor=${first.next_cursor}`)).body;
  expect(second.data.map((item: Body) => item.event)).toEqual(["finalizing", "download.ready", "completed"]);
  expect(second.next_cursor).toBeNull();
});

const KNOWN_EVENTS =
  "queued started moderation.passed provider.submitted provider.error retry.scheduled progress finalizing download.ready completed failed recovered";

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
  const page = async (query: string) => (await get(service, `/jobs/${job_id}/logs${query}`)).body;
  expect((await page("")).data).toHaveLength(20);
  const all: Body[] = [];
  for (let next: Body = await page("?limit=100"); ; next = await page(`?limit=100&cursor=${next.next_cursor}`)) {
    all.push(...next.data);
    if (next.next_cursor === null) break;
  }
  expect(all.map(({ id }) => id)).toEqual(all.map((_, index) => index + 1));
  expect(all.length).toBeGreaterThan(100);
  expect(logs).toEqual(all.slice(-100));
  expect(KNOWN_EVENTS.split(" ")).toEqual(expect.arrayContaining(all.map(({ event }) => event)));
});

test("usage counts jobs and net spending by total, day and model [WA5]", async () => {
  const service = await start();
  service.clock.manual();
  const first = await submit(service, "image-1", { prompt: "a" });
  await finished(service, first.job_id);
  await service.clock.advance(86_400_000);
  await finished(service, (await submit(service, "image-1", { prompt: "b", num_outputs: 2 })).job_id);
  service.faults([{ kind: "fail_job" }]);
  await made(service, "video-1", { prompt: "c", aspect_ratio: "1:1", duration_ms: 3000 });
  const total = (await get(service, "/usage")).body;
  expect(total).toMatchObject({ group_by: "total", total_jobs: 3, total_spent: 0.06, currency: "USD" });
  expect(Date.parse(total.end) - Date.parse(total.start)).toBe(7 * 86_400_000);
  const byModel = (await get(service, "/usage?group_by=model")).body.data;
  expect(byModel).toEqual([
    { key: "image-1", jobs: 2, spent: 0.06, requests: 0 },
    { key: "video-1", jobs: 1, spent: 0, requests: 0 },
  ]);
  const byDay = (await get(service, "/usage?group_by=day")).body.data;
  expect(byDay.map((row: Body) => row.jobs)).toEqual([1, 2]);
  const yesterday = new Date(service.clock.now() - 86_000_000).toISOString();
  expect((await get(service, `/usage?end=${yesterday}`)).body.total_jobs).toBe(1);
  for (const query of [
    "group_by=hour",
    "start=monday",
    "start=2020-01-01&end=2020-06-01",
    "start=2020-01-02&end=2020-01-01",
  ]) {
    expect([query, (await get(service, `/usage?${query}`)).status]).toEqual([query, 400]);
  }
});

test("a cursor is good for the very list that returned it: of another list or job it is a 400 that names the cursor", async () => {
  const service = await start();
  const jobs = [];
  for (let index = 0; index < 3; index++) jobs.push(await made(service, "image-1", { prompt: `${index}` }));
  for (let index = 0; index < 2; index++) await ask(service, "POST", "/keys", { body: {} });
  const [first, second] = jobs.map(({ job_id }) => `/jobs/${job_id}`);
  const lists = [
    "/jobs",
    "/models/image-1/jobs",
    "/keys",
    "/models/speech-1/voices",
    `${first}/logs`,
    `${second}/logs`,
  ];
  const cursors = new Map<string, string>();
  for (const path of lists) cursors.set(path, (await get(service, `${path}?limit=1`)).body.next_cursor);
  const polls = [`${first}/status`, `${second}/status`];
  for (const path of polls) cursors.set(path, (await get(service, `${path}?logs_after=start`)).body.logs_next_cursor);
  for (const [path, field] of [
    ...lists.map((list) => [list, "cursor"]),
    ...polls.map((poll) => [poll, "logs_after"]),
  ]) {
    for (const [from, cursor] of cursors) {
      const { status, body } = await get(service, `${path}?${field}=${cursor}`);
      const answer = [path, from, status, status === 200 ? undefined : body.error];
      const refused = expect.objectContaining({ code: "INVALID_ARGUMENT", param: field });
      expect(answer).toEqual([path, from, ...(from === path ? [200, undefined] : [400, refused])]);
    }
  }
});

test("a chat model has jobs as any other, listed before and after the first", async () => {
  const service = await start();
  expect(await get(service, "/models/chat-1/jobs")).toMatchObject({ status: 200, body: { data: [] } });
  const body = { model: "chat-1", messages: [{ role: "user", content: "hello" }] };
  const { id } = (await ask(service, "POST", "/chat/completions", { body })).body;
  expect((await get(service, "/models/chat-1/jobs")).body.data).toMatchObject([{ job_id: id, model: "chat-1" }]);
  expect((await get(service, "/models/chat-2/jobs")).status).toBe(404);
});
