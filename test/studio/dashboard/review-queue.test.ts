import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunRow } from "../../../src/core/view/index.ts";
import type { JournalStore } from "../../../src/index.ts";
import { differing } from "../../../src/studio/dashboard/page/ui/format.ts";
import { waitingDecisions } from "../../../src/studio/dashboard/routes/review-routes.ts";
import type { PageStep, ReviewQueue } from "../../../src/studio/dashboard/views/document.ts";
import { cookieOf } from "./support/ask.ts";
import { plantQuestion } from "./support/review-links.ts";
import { type Served, serveDashboard } from "./support/serve.ts";

let served: Served;
beforeAll(async () => {
  served = await serveDashboard();
  await plantQuestion(served, "acme-1", "acme", [10, 40]);
  await plantQuestion(served, "acme-2", "acme", [70, 100]);
  await plantQuestion(served, "rival-1", "rival", [130, 160]);
});
afterAll(() => served[Symbol.asyncDispose]());

async function ask(path: string, body?: object) {
  const { origin, url } = served.dashboard;
  const answer = await fetch(origin + path, {
    headers: { cookie: await cookieOf(url), origin, "content-type": "application/json" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as unknown };
}

async function queue(query = ""): Promise<ReviewQueue> {
  const { status, body } = await ask(`/api/review${query}`);
  expect(status).toBe(200);
  return body as ReviewQueue;
}

const runs = ({ items }: ReviewQueue) => items.map(({ run }) => run).toSorted();

describe("what waits", () => {
  test("is listed over all runs, by pipeline, tag, run and words, with counts of all that the words find", async () => {
    const all = await queue();
    expect(runs(all)).toEqual(["acme-1", "acme-2", "rival-1"]);
    expect(all.total).toBe(3);
    expect(all.items[0]).toMatchObject({ message: "Which look for acme?", takes: 2, tags: ["client=acme"] });
    const counts = all.tags.map(({ name, count }) => [name, count]);
    expect(Object.fromEntries(counts)).toEqual({ "client=acme": 2, "client=rival": 1 });
    const acme = await queue("?tag=client%3Dacme");
    expect([runs(acme), acme.tags.length]).toEqual([["acme-1", "acme-2"], 2]);
    for (const query of ["run=rival-1", "q=rival"]) expect(runs(await queue(`?${query}`))).toEqual(["rival-1"]);
    for (const query of ["run=none", "pipeline=none"]) expect(runs(await queue(`?${query}`))).toEqual([]);
  });

  test("is the same list for code", async () => {
    const waiting = await served.show.waiting({ tags: { client: "acme" } });
    expect(waiting.map(({ runId }) => runId).toSorted()).toEqual(["acme-1", "acme-2"]);
    expect(waiting[0]).toMatchObject({ message: "Which look for acme?", takes: 2, tags: { client: "acme" } });
    expect(await served.show.waiting({ pipeline: "none" })).toEqual([]);
  });

  test("reads each run once while it does not move, also where more than 20,000 wait", async () => {
    const row = { pipeline: "look", title: null, tags: {}, status: "paused", createdAt: 1, lastSeq: 1 };
    const rows = Array.from({ length: 20_001 }, (_, index) => ({ ...row, runId: `run-${index}` }) as RunRow);
    let reads = 0;
    const journal = {
      runs: async () => rows,
      snapshot: async () => {
        reads += 1;
        throw new Error("not readable");
      },
    } as unknown as JournalStore;
    const waiting = waitingDecisions(journal);
    const all = { search: "", run: null, pipeline: null, tag: null };
    await waiting(all);
    expect(reads).toBe(20_001);
    await waiting(all);
    expect(reads).toBe(20_001);
  });

  test("shows a comment at once, and leaves when somebody has decided", async () => {
    const [first] = (await queue("?run=acme-2")).items;
    const { step } = first!;
    const one = `/api/review/step?${new URLSearchParams({ run: "acme-2", step })}`;
    const said = { step, text: "warmer", take: 1, timeMs: 1500 };
    expect(await ask("/api/runs/acme-2/comment", said)).toEqual({ status: 200, body: {} });
    const { comments } = ((await ask(one)).body as PageStep).decision!;
    expect(comments).toMatchObject([{ text: "warmer", take: 1, timeMs: 1500, name: null }]);
    await served.show.approve("acme-2", step, { pick: 0 });
    expect(runs(await queue())).toEqual(["acme-1", "rival-1"]);
    expect((await served.show.waiting()).map(({ runId }) => runId).toSorted()).toEqual(["acme-1", "rival-1"]);
  });

  test("a comment that says nothing, or is about what is not there, is refused by its field", async () => {
    const [first] = (await queue("?run=acme-1")).items;
    const { step } = first!;
    const wrong = [
      { text: "a" },
      { step, text: "" },
      { step, text: "a".repeat(2001) },
      { step, text: "a", take: 2 },
      { step, text: "a", take: -1 },
      { step, text: "a", timeMs: 86_400_001 },
    ];
    const answers = await Promise.all(wrong.map((body) => ask("/api/runs/acme-1/comment", body)));
    expect(answers.map(({ status }) => status)).toEqual(wrong.map(() => 400));
    const messages = answers.map(({ body }) => (body as { error: { message: string } }).error.message.split(" ")[0]);
    expect(messages).toEqual(["step", "text", "text", "take", "take", "timeMs"]);
    expect((await ask("/api/runs/acme-1/comment", { step: "none", text: "a" })).status).toBe(404);
    expect((await ask("/api/review/step?run=acme-1&step=none")).status).toBe(404);
    expect(await served.journal.inbox("acme-1")).toEqual([]);
  });
});

test("inputs differ in the fields that are not the same in all of them", () => {
  const inputs = [
    { prompt: "a kettle", seed: 1, at: { x: 1 } },
    { prompt: "a kettle", seed: 2, at: { x: 1 } },
    { prompt: "a kettle", at: { x: 1 }, ratio: null },
  ];
  expect(differing(inputs)).toEqual(["seed", "ratio"]);
  expect(differing([])).toEqual([]);
});
