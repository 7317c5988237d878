import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Client, UnknownOutcomeError } from "../../../src/core/api/index.ts";
import { createMemoryJournal, type JournalStore, openShowrunner } from "../../../src/index.ts";
import { apiError, builtInCatalog, FakePaidService, models, pipelineOf } from "../../support/engine.ts";
import { PIXEL } from "../../support/tiny-media.ts";

const two = pipelineOf(
  "two",
  ({ job }) => ({ a: job("a", models.image, { prompt: "a" }), b: job("b", models.image, { prompt: "b" }) }),
  { onFailure: "failFast" },
);

const gated = pipelineOf("gated", ({ job, approve }) => {
  const images = [approve("gate", job("a", models.image, { prompt: "a" }))];
  return { b: job("b", models.image, { prompt: "b", images }), c: job("c", models.image, { prompt: "c", images }) };
});

const given = pipelineOf("given", ({ job, upload }) => {
  const image = upload("given", { bytes: PIXEL, kind: "image" });
  return { a: job("a", models.image, { prompt: "x", images: [image] }) };
});

/** A Showrunner in real time on a paper service whose client is changed by hand. */
async function open(
  change: (client: Client) => Partial<Client>,
  { stuck = false, journal = createMemoryJournal() } = {},
) {
  const paidService = new FakePaidService({
    catalog: builtInCatalog(),
    ...(stuck && { sleep: () => new Promise<never>(() => {}) }),
  });
  const folder = mkdtempSync(join(tmpdir(), "hard-moments-"));
  const client = { ...paidService.client(), ...change(paidService.client()) };
  const options = { client, journal, mediaDir: join(folder, "media") };
  return {
    paper: paidService,
    journal,
    outDir: join(folder, "out"),
    show: await openShowrunner(options),
    again: () => openShowrunner(options),
  };
}

/** How often the run looked at its inbox, which it does once a turn. */
function turnsOf(journal: JournalStore): () => number {
  let turns = 0;
  const inbox = journal.inbox.bind(journal);
  journal.inbox = (runId) => {
    turns++;
    return inbox(runId);
  };
  return () => turns;
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const lost = (model: string) => new UnknownOutcomeError({ model, idempotencyKey: "k", cause: apiError(502, "BAD") });
const isFor = (request: { readonly input: unknown }, prompt: string) =>
  (request.input as { readonly prompt?: string }).prompt === prompt;

test("a run that a failure stopped rests for its unanswered submit, and turns in no circle", async () => {
  const journal = createMemoryJournal();
  const turns = turnsOf(journal);
  const { show, outDir } = await open(
    () => ({
      submit: (request) => {
        const cause = apiError(400, "INVALID_ARGUMENT");
        return Promise.reject(
          isFor(request, "a") ? cause : new UnknownOutcomeError({ model: request.model, idempotencyKey: "k", cause }),
        );
      },
    }),
    { journal },
  );
  const run = await show.run(two, {}, { id: "x", outDir });
  expect(await run.result()).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
  expect(turns()).toBeLessThan(100);
  await show.close();
});

test("a stop stands although a submit on its way finds the wallet short", async () => {
  const journal = createMemoryJournal();
  const turns = turnsOf(journal);
  const answer = Promise.withResolvers<never>();
  let isSent = false;
  const { show, outDir } = await open(
    (client) => ({
      submit: (request, options) => {
        if (!isFor(request, "b")) return client.submit(request, options);
        isSent = true;
        return answer.promise;
      },
    }),
    { stuck: true, journal },
  );
  const run = await show.run(two, {}, { id: "x", outDir });
  await until(() => isSent);
  await show.stop("x");
  await until(async () => (await show.show("x")).status === "paused");
  const before = turns();
  answer.reject(apiError(402, "INSUFFICIENT_BALANCE"));
  expect(await run.result()).toMatchObject({ status: "paused", pause: { reason: "stopped" } });
  expect(turns() - before).toBeLessThan(100);
  await show.close();
});

test("two steps learn at once that the asset they read expired: both continue with the copy", async () => {
  let isGone = false;
  const waiting: (() => void)[] = [];
  const { show, outDir, paper } = await open((client) => ({
    submit: async (request, options) => {
      if (!isGone || !JSON.stringify(request.input).includes("asset_id")) return client.submit(request, options);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 2) for (const go of waiting) go();
      });
      const details = [{ field: "images.0.asset_id", reason: "expired", message: "expired", allowed: null }];
      throw apiError(400, "INVALID_ARGUMENT", { details });
    },
  }));
  const run = await show.run(gated, {}, { id: "x", outDir });
  expect(await run.result()).toMatchObject({ pause: { reason: "approval" } });
  isGone = true;
  await show.approve("x", "gate");
  expect(await (await show.resume("x")).result()).toMatchObject({ status: "succeeded" });
  expect(paper.jobs.size).toBe(3);
  await show.close();
});

test("an unanswered submit whose upload cannot be renewed stays unresolved, with its hold", async () => {
  let isFull = false;
  let isSent = false;
  const { show, again, outDir, paper, journal } = await open((client) => ({
    submit: async (request, options) => {
      if (isSent) throw lost(request.model);
      await client.submit(request, options);
      isSent = true;
      throw lost(request.model);
    },
    upload: (...args) => (isFull ? Promise.reject(apiError(413, "PAYLOAD_TOO_LARGE")) : client.upload(...args)),
  }));
  const run = await show.run(given, {}, { id: "x", outDir });
  await until(() => isSent);
  await run.stop();
  isFull = true;
  Object.assign(journal, { handle: () => Promise.resolve(null) });
  const second = await again();
  expect(await (await second.resume("x")).result()).toMatchObject({
    status: "paused",
    pause: { reason: "unresolved" },
  });
  expect(paper.jobs.size).toBe(1);
  expect((await journal.ledger("x")).heldMicros).toBe(paper.chargedMicros);
  await second.close();
});

test("a stop in the very moment of a commit is heard", async () => {
  const journal = createMemoryJournal();
  const stop = new AbortController();
  const commit = journal.commit.bind(journal);
  journal.commit = async (made) => {
    const outcome = await commit(made);
    if (made.events.some(({ type }) => type === "job.started")) stop.abort();
    return outcome;
  };
  const { show, outDir } = await open(() => ({}), { stuck: true, journal });
  const run = await show.run(two, {}, { id: "x", outDir, signal: stop.signal });
  expect(await run.result()).toMatchObject({ status: "paused", pause: { reason: "stopped" } });
  await show.close();
});
