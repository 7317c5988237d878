import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createClient, createMemoryJournal, openShowrunner, pipeline, type RunOptions } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { models, newFolder, pipelineOf, skippingClock } from "../../support/engine.ts";
import { type HttpProxy, type PassingAnswer, startProxy } from "../../support/proxy.ts";

let service: LocalService;
let proxy: HttpProxy;
const folder = newFolder();
let rewrite: (answer: PassingAnswer) => void = () => {};
let runs = 0;

beforeAll(async () => {
  const rateLimit = { requests: 1e6, windowMs: 60_000 };
  service = await startLocalService({ renderer: "stub", balance: 1000, rateLimit });
  proxy = await startProxy(service.baseUrl, {
    fault: () => ({ type: "rewrite", rewrite: (answer) => answer.body !== undefined && rewrite(answer) }),
  });
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});
beforeEach(() => {
  rewrite = () => {};
});

/** So many pictures, and a speech beside them. */
const studio = pipeline("studio", {
  input: z.object({ count: z.number() }),
  build({ input, job }) {
    const pictures = Array.from({ length: input.count }, (_, n) => job(`p${n}`, models.image, { prompt: `${n}` }));
    const voice_id = "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01";
    return { pictures, line: job("line", models.speech, { text: "Good morning.", voice_id }) };
  },
});

async function world() {
  const id = `run-${++runs}`;
  const journal = createMemoryJournal();
  const before = service.stats();
  const clock = skippingClock(Date.now(), 1);
  const client = createClient({ baseUrl: proxy.baseUrl, apiKey: service.apiKey, clock });
  const show = await openShowrunner({ client, journal, mediaDir: join(folder, "media"), follow: "poll", clock });
  onTestFinished(() => show.close());
  const outDir = join(folder, id);
  return {
    ...{ id, journal, show },
    run: async (count: number, options: RunOptions = {}) =>
      (await show.run(studio, { count }, { id, outDir, ...options })).result(),
    sail: async () => (await show.run(boat, {}, { id, outDir })).result(),
    resume: async () => (await show.resume(id)).result(),
    bought: () => service.stats().jobs_created - before.jobs_created,
  };
}

const boat = pipelineOf("boat", ({ job }) => ({
  boat: job("boat", models.image, { prompt: "a red boat leaves the harbour" }),
}));

const isJob = ({ method, path }: PassingAnswer) => method === "GET" && /^\/jobs\/[^/?]+$/.test(path);
const isSubmit = ({ method, path, status }: PassingAnswer) =>
  method === "POST" && /^\/models\/[^/]+$/.test(path) && status === 202;

test.each([
  ["below zero", { cost: -0.01 }, "-0.01 USD"],
  ["of no number", { cost: "NaN" }, '"NaN" USD'],
  ["beyond all bounds", { cost: 1e300 }, "1e+300 USD"],
  ["in another currency", { cost: 2, currency: "EUR" }, "2 EUR"],
])(
  "a bill %s stops nothing: it is recorded, its hold stays, the rest is collected, and resume asks again",
  async (_, said, text) => {
    const { id, journal, run, resume } = await world();
    let odd: string | null = null;
    rewrite = (answer) => {
      if (!isJob(answer) || answer.body.cost === undefined || !answer.body.model.startsWith("image")) return;
      odd ??= answer.body.job_id;
      if (answer.body.job_id === odd) Object.assign(answer.body, said);
    };
    const result = await run(3, { giveUpAfterMs: 1000 });
    expect([result.status, Object.keys(result.outputs)]).toEqual(["succeeded", ["pictures", "line"]]);
    const next = { command: `showrunner resume ${id}`, note: expect.stringContaining(text) };
    expect(result.report).toMatchObject({ held: "0.02", next });
    const told = (await journal.read(id)).filter(({ event }) => event.type === "job.bill.impossible");
    expect(told.map(({ event }) => event)).toMatchObject([{ said: text }]);
    rewrite = () => {};
    expect((await resume()).report).toMatchObject({ held: "0.00", next: null });
  },
);

describe("an acknowledgement of something else", () => {
  test("of another model is not taken for the job, which is found", async () => {
    const { id, show, run, resume, bought } = await world();
    let own: string | null = null;
    rewrite = (answer) => {
      if (!isSubmit(answer) || own !== null || answer.body.model !== "image-1") return;
      own = answer.body.job_id;
      answer.body.model = "speech-1";
    };
    const result = await run(2, { concurrency: 1 });
    expect([result.status, result.pause?.reason, bought()]).toEqual(["paused", "unresolved", 3]);
    const [open] = await show.unresolved(id);
    expect(open?.reason).toMatch(
      /request was for image-1, but the service returned job_.*, which is a job for speech-1/,
    );
    expect(open?.candidates.map(({ jobId }) => jobId)).toContain(own);
    await show.adopt(id, open!.step, own);
    expect([(await resume()).status, bought()]).toEqual(["succeeded", 3]);
  });

  test("one id for two steps serves the first alone", async () => {
    const { id, show, run, resume, bought } = await world();
    const ids: string[] = [];
    rewrite = (answer) => {
      if (!isSubmit(answer) || answer.body.model !== "image-1") return;
      ids.push(answer.body.job_id);
      answer.body.job_id = ids[0];
    };
    const result = await run(2);
    expect([result.pause?.reason, bought()]).toEqual(["unresolved", 3]);
    const [open] = await show.unresolved(id);
    expect(open?.candidates.map(({ jobId }) => jobId)).toContain(ids[1]);
    await show.adopt(id, open!.step, ids[1]!);
    expect((await resume()).status).toBe("succeeded");
  });

  const stranger = async () => {
    const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
    const { jobId } = await client.submit({ model: "image-1", input: { prompt: "a castle of somebody else" } });
    return jobId;
  };
  test("of a job with another prompt is not taken for its own, which is found [G3]", async () => {
    const foreign = await stranger();
    const { id, show, sail, resume, bought } = await world();
    let own: string | null = null;
    rewrite = (answer) => {
      if (!isSubmit(answer)) return;
      own = answer.body.job_id;
      answer.body.job_id = foreign;
    };
    const result = await sail();
    expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { cost: "0.00" } });
    expect(Number(result.report.held)).toBeGreaterThan(0);
    const [open] = await show.unresolved(id);
    expect(open?.reason).toContain(`${foreign} ran with a different prompt from the one in the request`);
    expect([open?.certain, open?.candidates[0]?.jobId]).toEqual([own, own]);
    expect((await resume()).pause?.reason).toBe("unresolved");
    await show.adopt(id, "boat", own);
    expect([(await resume()).status, bought()]).toEqual(["succeeded", 1]);
  });

  test.each([
    ["made before it was sent", { created_at: "2020-01-01T00:00:00Z" }, "was created at 2020"],
    ["with a different key", { idempotency_key: "sr1_of_somebody" }, "was created with a different idempotency key"],
  ])("of a job that was %s is left to a person, who may take it all the same", async (_, said, text) => {
    const { id, show, sail, resume, bought } = await world();
    rewrite = (answer) => isJob(answer) && Object.assign(answer.body, said);
    expect((await sail()).pause?.reason).toBe("unresolved");
    const [open] = await show.unresolved(id);
    expect([open?.reason, open?.certain]).toEqual([expect.stringContaining(text), null]);
    await show.adopt(id, "boat", /job_[\w-]+/.exec(open!.reason!)![0]);
    expect([(await resume()).status, bought()]).toEqual(["succeeded", 1]);
  });

  test.each([
    ["shortened", "A red boat leaves", false],
    ["put into a template", "Cinematic. A red boat, leaves the harbour! 4k", false],
    ["rewritten, as its model offers", "Dawn over the quay", true],
  ])("of a job whose prompt was %s is its own", async (_, prompt, isOffered) => {
    const { sail, bought } = await world();
    rewrite = (answer) => {
      if (isJob(answer)) answer.body.prompt = prompt;
      const properties = answer.path === "/models/image-1" ? answer.body.input_schema?.properties : undefined;
      if (isOffered && properties !== undefined) properties.enhance_prompt = { type: "boolean" };
    };
    expect([(await sail()).status, bought()]).toEqual(["succeeded", 1]);
  });

  test("a malformed id is asked for again under the same key", async () => {
    const { run, bought } = await world();
    let isFirst = true;
    rewrite = (answer) => {
      if (!isSubmit(answer) || !isFirst) return;
      isFirst = false;
      answer.body.job_id = "../keys?x= y";
    };
    expect([(await run(1)).status, bought()]).toEqual(["succeeded", 2]);
  });
});
