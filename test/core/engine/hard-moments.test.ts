import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Client, UnknownOutcomeError } from "../../../src/core/api/index.ts";
import { createMemoryJournal, openShowrunner, type Pipeline, type RunOptions } from "../../../src/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { apiError, FakePaidService, models, PIXEL, pipelineOf } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";

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
  const sleep = () => new Promise<never>(() => {});
  const paidService = new FakePaidService({ catalog: builtInCatalog(), ...(stuck && { sleep }) });
  const folder = newFolder();
  const client = { ...paidService.client(), ...change(paidService.client()) };
  const options = { client, journal, mediaDir: join(folder, "media") };
  const show = await openShowrunner(options);
  onTestFinished(() => show.close());
  /** How often the run looked at its inbox, which it does once a turn. */
  const turns = vi.spyOn(journal, "inbox").mock.calls;
  const start = (what: Pipeline, more: RunOptions = {}) =>
    show.run(what, {}, { id: "x", outDir: join(folder, "out"), ...more });
  return { paidService, journal, turns, show, start, again: () => openShowrunner(options) };
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const lost = (model: string, cause = apiError(502, "BAD")) =>
  new UnknownOutcomeError({ model, idempotencyKey: "k", cause });
const isFor = (request: { readonly input: unknown }, prompt: string) =>
  (request.input as { readonly prompt?: string }).prompt === prompt;

test("a run that a failure stopped rests for its unanswered submit, and turns in no circle", async () => {
  const refused = apiError(400, "INVALID_ARGUMENT");
  const { start, turns } = await open(() => ({
    submit: (request) => Promise.reject(isFor(request, "a") ? refused : lost(request.model, refused)),
  }));
  const run = await start(two);
  expect(await run.result()).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
  expect(turns.length).toBeLessThan(100);
});

test("a stop stands although a submit on its way finds the wallet short", async () => {
  const answer = Promise.withResolvers<never>();
  let isSent = false;
  const { show, start, turns } = await open(
    (client) => ({
      submit: (request, options) => {
        if (!isFor(request, "b")) return client.submit(request, options);
        isSent = true;
        return answer.promise;
      },
    }),
    { stuck: true },
  );
  const run = await start(two);
  await until(() => isSent);
  await show.stop("x");
  await until(async () => (await show.show("x")).status === "paused");
  const before = turns.length;
  answer.reject(apiError(402, "INSUFFICIENT_BALANCE"));
  expect(await run.result()).toMatchObject({ status: "paused", pause: { reason: "stopped" } });
  expect(turns.length - before).toBeLessThan(100);
});

test("two steps learn at once that the asset they read expired: both continue with the copy", async () => {
  let isGone = false;
  const waiting: (() => void)[] = [];
  const { show, start, paidService } = await open((client) => ({
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
  const run = await start(gated);
  expect(await run.result()).toMatchObject({ pause: { reason: "approval" } });
  isGone = true;
  await show.approve("x", "gate");
  expect(await (await show.resume("x")).result()).toMatchObject({ status: "succeeded" });
  expect(paidService.jobs.size).toBe(3);
});

test("an unanswered submit whose upload cannot be renewed stays unresolved, with its hold", async () => {
  let isFull = false;
  let isSent = false;
  const { again, start, paidService, journal } = await open((client) => ({
    submit: async (request, options) => {
      if (isSent) throw lost(request.model);
      await client.submit(request, options);
      isSent = true;
      throw lost(request.model);
    },
    upload: (...args) => (isFull ? Promise.reject(apiError(413, "PAYLOAD_TOO_LARGE")) : client.upload(...args)),
  }));
  const run = await start(given);
  await until(() => isSent);
  await run.stop();
  isFull = true;
  Object.assign(journal, { handle: () => Promise.resolve(null) });
  const second = await again();
  const result = await (await second.resume("x")).result();
  expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
  expect(paidService.jobs.size).toBe(1);
  expect((await journal.ledger("x")).heldMicros).toBe(paidService.chargedMicros);
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
  const { start } = await open(() => ({}), { stuck: true, journal });
  const run = await start(two, { signal: stop.signal });
  expect(await run.result()).toMatchObject({ status: "paused", pause: { reason: "stopped" } });
});
