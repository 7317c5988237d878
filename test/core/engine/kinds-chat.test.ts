import fc from "fast-check";
import { expect, test } from "vitest";
import { type ChatRequest, ConnectionError } from "../../../src/core/api/index.ts";
import { eventText } from "../../../src/core/journal/events.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import type { Reference } from "../../../src/core/plan/plan.ts";
import { during, eventsOf, type FakeShow, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";
import { apiError } from "../../support/fake-paid-service.ts";
import { isFull } from "../../support/sample.ts";
import { chatStep, runPlan } from "./fixtures/planned-run.ts";

const value: Reference = { $ref: { step: "story", as: "value", output: 0 } };
const returns = { story: value };
const titled = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };

async function asked(world: FakeShow, step = chatStep(), budgetMicros?: number) {
  const more = budgetMicros === undefined ? { returns } : { returns, budgetMicros };
  const handle = await runPlan(world, [step], more);
  return during(world.clock, handle.result());
}

const typesOf = async (world: FakeShow) =>
  (await eventsOf(world)).map(({ type }) => type).filter((type) => type.startsWith("chat."));
const requestsOf = ({ paidService }: FakeShow) => [...paidService.chats.values()].map(({ request }) => request);

test("an answer is the step's value, its cost is what its job was charged", async () => {
  const world = await openFakeShow({ says: () => "once upon a time", chatMicros: 1_234 });
  const said = "once upon a time";
  const attempts = [{ n: 1, job_id: "job_chat_1", status: "completed", cost: "0.001234" }];
  expect(await asked(world)).toMatchObject({
    ...{ status: "succeeded", outputs: { story: said }, cost: { micros: 1_234 } },
    report: { steps: [{ kind: "chat", model: "chat-1", value: said, attempts }] },
  });
  expect(await world.journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros: 1_234 });
});

/** A service that answers, and whose jobs of chats cannot be read. */
async function withoutJobs(refusal: Error, answer: object = {}, model: object = {}): Promise<FakeShow> {
  return openFakeShow({
    says: () => "once upon a time",
    client: (client) => ({
      job: () => Promise.reject(refusal),
      chat: async (...args) => ({ ...(await client.chat(...args)), ...answer }),
      model: async (id) => ({ ...(await client.model("image-1")), id, ...model }),
    }),
  });
}

const usage = { promptTokens: 1_000, completionTokens: 500, totalTokens: 1_500, costMicros: null };
const pricing = { inputMicros: 600_000, outputMicros: 2_200_000 };

test.each([
  ["with its envelope", apiError(404, "NOT_FOUND")],
  ["from somebody between", apiError(404, "UNKNOWN", {}, false)],
  ["for want of a scope", apiError(403, "PERMISSION_DENIED")],
])(
  "an answer whose job cannot be read, %s, costs what it says itself, else its tokens by the model's prices",
  async (_name, refusal) => {
    const told = await withoutJobs(refusal, { usage, costMicros: 1_234 }, { pricing });
    const before = told.clock.now();
    const confirmed = { cost: { micros: 1_234 }, report: { unconfirmed: "0.00" } };
    expect(await asked(told, chatStep(), 100_000)).toMatchObject(confirmed);
    expect(told.clock.now() - before).toBeLessThan(1_000);

    const counted = await withoutJobs(refusal, { usage, costMicros: null }, { pricing });
    const unconfirmed = { cost: { micros: 1_700 }, report: { unconfirmed: "0.0017" } };
    expect(await asked(counted, chatStep(), 100_000)).toMatchObject(unconfirmed);
    expect(counted.clock.now() - before).toBeLessThan(3_000);
    const lines = (await eventsOf(counted)).map(eventText);
    expect(lines).toContain("answered, cost $0.0017 (from 1500 tokens, not confirmed)");
    expect(await counted.journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros: 1_700 });
  },
);

test("an answer whose job cannot be read is had within seconds, and its maximum is booked as not confirmed", async () => {
  const world = await withoutJobs(apiError(404, "NOT_FOUND"), { usage });
  const before = world.clock.now();
  const result = await asked(world, chatStep(), 100_000);
  expect(world.clock.now() - before).toBeLessThan(3_000);
  expect(result).toMatchObject({ status: "succeeded", outputs: { story: "once upon a time" } });
  const { cost, unconfirmed, steps } = result.report;
  expect(steps[0]!.attempts).toMatchObject([{ status: "completed", cost, unconfirmed: true }]);
  expect(Number(cost)).toBeGreaterThan(0);
  expect(unconfirmed).toBe(cost);
});

test("an answer that does not meet the schema goes back with what is wrong with it, and both are paid for", async () => {
  const world = await openFakeShow({ says: (_, nth) => (nth === 0 ? '{"name": 1}' : '```json\n{"title": "T"}\n```') });
  const result = await asked(world, chatStep({ schema: titled }));
  expect(result).toMatchObject({ status: "succeeded", outputs: { story: { title: "T" } }, cost: { micros: 2_000 } });
  const [first, second] = requestsOf(world);
  const response_format = { type: "json_schema", json_schema: { name: "story", schema: titled } };
  expect(first).toMatchObject({ response_format });
  expect(second!.messages.slice(1)).toEqual([
    { role: "assistant", content: '{"name": 1}' },
    { role: "user", content: expect.stringContaining("must have required property 'title'") },
  ]);
  expect(result.report.steps[0]!.attempts.map(({ status }) => status)).toEqual(["failed", "completed"]);
});

test("an answer that goes back for repair is stored without terminal controls and URL queries", async () => {
  const world = await openFakeShow({
    says: (_, nth) => (nth === 0 ? "\u001b[2Jsee https://s3.test/a?sig=hidden" : '{"title": "T"}'),
  });
  expect(await asked(world, chatStep({ schema: titled }))).toMatchObject({ status: "succeeded" });
  const error = { code: "ANSWER_INVALID", message: expect.stringMatching(/^The answer is not JSON/) };
  expect(await eventsOf(world)).toContainEqual(
    expect.objectContaining({
      ...{ type: "chat.failed", answer: "\ufffd[2Jsee https://s3.test/a", error: expect.objectContaining(error) },
    }),
  );
});

test("an empty answer is repaired where there is a schema, and else paid no oftener than allowed", async () => {
  const world = await openFakeShow({ says: (_, nth) => (nth === 0 ? "" : '{"title": "T"}') });
  expect(await asked(world, chatStep({ schema: titled }))).toMatchObject({ status: "succeeded" });
  expect(requestsOf(world)[1]!.messages.map(({ role }) => role)).toEqual(["user", "user"]);

  const mute = await openFakeShow({ says: () => "" });
  const policy = { attempts: 2, maxCostMicros: 5_000, keep: true };
  const result = await asked(mute, chatStep({ policy }));
  expect(result.report.steps[0]!.reason).toBe("ANSWER_INVALID: The answer is empty.");
  expect(mute.paidService.chats.size).toBe(2);
});

test("a refusal that may pass is waited out", async () => {
  const troubles = [apiError(503, "UNAVAILABLE", { retryable: true }), new ConnectionError("down", { sent: false })];
  const world = await openFakeShow({
    says: () => {
      const trouble = troubles.shift();
      if (trouble !== undefined) throw trouble;
      return "at last";
    },
  });
  expect(await asked(world)).toMatchObject({ status: "succeeded", outputs: { story: "at last" } });
  // One hold for all of it: nothing is told of each try.
  expect(await typesOf(world)).toEqual(["chat.intended", "chat.answered"]);
});

test("a request whose hold was raised above its maximum is booked with the whole hold once it is abandoned", async () => {
  let requests = 0;
  const says = () => {
    requests += 1;
    if (requests === 2) throw new ConnectionError("cut", { sent: true });
    return "once upon a time";
  };
  const world = await openFakeShow({ says, chatMicros: 9_000 });
  const steps = [chatStep(), chatStep({ path: "sequel", needs: ["story"], fingerprint: "f1_sequel" })];
  const handle = await runPlan(world, steps, { returns });
  const { status, report, cost } = await during(world.clock, handle.result());
  expect([status, report.unconfirmed, cost.micros]).toEqual(["succeeded", "0.009", 18_000]);
  expect(await world.journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros: 18_000 + 9_000 });
});

test("a stop waits for the answer that is under way, and asks nothing more", async () => {
  const { promise: waiting, resolve: answer } = Promise.withResolvers<void>();
  const { promise: isAsking, resolve: asking } = Promise.withResolvers<void>();
  const world = await openFakeShow({
    says: () => "in time",
    client: ({ chat }) => ({
      chat: async (...args) => {
        asking();
        await waiting;
        return chat(...args);
      },
    }),
  });
  const input = { messages: [{ role: "user", content: value }] };
  const next = chatStep({ path: "next", fingerprint: "f1_next", needs: ["story"], input });
  const handle = await runPlan(world, [chatStep(), next], { returns });
  await isAsking;
  const stopped = handle.stop();
  answer();
  await during(world.clock, stopped);
  const result = await handle.result();
  expect(result).toMatchObject({ status: "paused", pause: { reason: "stopped" }, outputs: { story: "in time" } });
  expect(await typesOf(world)).toEqual(["chat.intended", "chat.answered"]);
});

test("a late charge is waited for; one that never comes counts as the maximum", async () => {
  let polls = 0;
  const world = await openFakeShow({
    client: ({ job }) => ({ job: async (id) => ({ ...(await job(id)), ...(++polls < 4 && { costMicros: null }) }) }),
  });
  expect(await asked(world)).toMatchObject({ status: "succeeded", cost: { micros: 1_000 } });

  const silent = await openFakeShow({ client: () => ({ job: async () => ({ costMicros: null }) as never }) });
  expect(await asked(silent)).toMatchObject({ status: "succeeded", cost: { micros: 5_000 } });
});

/** Everything that can become of one request. */
const fates = {
  good: () => '{"title": "T"}',
  bad: () => "no JSON",
  mute: () => "",
  busy: () => raise(apiError(503, "UNAVAILABLE", { retryable: true })),
  broken: () => raise(apiError(500, "INTERNAL", { retryable: true })),
  proxy: () => raise(apiError(502, "UNKNOWN", {}, false)),
  unsent: () => raise(new ConnectionError("down", { sent: false })),
  lost: () => raise(new ConnectionError("cut", { sent: true })),
  refused: () => raise(apiError(400, "INVALID_ARGUMENT")),
  unfunded: () => raise(apiError(402, "INSUFFICIENT_BALANCE")),
};

function raise(error: Error): never {
  throw error;
}

test("whatever becomes of each request, the question ends, every answer is on the books, and no other", async () => {
  const names = Object.keys(fates) as (keyof typeof fates)[];
  const sequences = fc.array(fc.constantFrom(...names), { maxLength: 12 });
  const few = fc.integer({ min: 1, max: 3 });
  await fc.assert(
    fc.asyncProperty(sequences, few, fc.nat({ max: 2 }), async (sequence, attempts, repairs) => {
      const left = [...sequence];
      const happened: (keyof typeof fates)[] = [];
      const world = await openFakeShow({
        says: () => {
          const fate = left.shift() ?? "good";
          happened.push(fate);
          return fates[fate]();
        },
      });
      const policy = { attempts, maxCostMicros: 2_500, keep: true };
      let result = await asked(world, chatStep({ schema: titled, repairs, policy }));
      const restsFor = ["funds", "unanswered"];
      for (let times = 0; restsFor.includes(result.pause?.reason ?? "") && times < 20; times++) {
        result = await world.resume();
      }
      expect(["succeeded", "failed"]).toContain(result.status);
      const answers = happened.filter((fate) => fate === "good" || fate === "bad" || fate === "mute").length;
      const unknown = happened.filter((fate) => ["lost", "proxy", "broken"].includes(fate)).length;
      expect(world.paidService.chats.size).toBe(answers);
      expect(result.cost.micros).toBe(world.paidService.chatChargedMicros);
      const ledger = await world.journal.ledger("x");
      expect(ledger.heldMicros).toBe(0);
      const unconfirmed = ledger.settledMicros - result.cost.micros;
      expect(Number(result.report.unconfirmed) * 1e6).toBeCloseTo(unconfirmed);
      expect(unconfirmed).toBeLessThanOrEqual(unknown * 2_500);
      expect(unknown === 0).toBe(unconfirmed === 0);
      // Each try costs no more than the maximum, but for the answer that used it up.
      expect(result.cost.micros).toBeLessThanOrEqual(attempts * (2_500 + 1_000));
      expect(result.status === "succeeded").toBe(happened.at(-1) === "good");
    }),
    { numRuns: isFull ? 500 : 20 },
  );
});

/** A chat that looks at what two jobs make. */
const looks = (num_outputs: 1 | 2 = 1) =>
  pipelineOf("looks", ({ job, chat }) => {
    const picture = job("picture", models.image, { prompt: "x", num_outputs });
    const request = { prompt: "What is it?", images: [picture.outputs()] };
    return { said: chat("said", "chat-1", request, { maxCost: "0.01" }) };
  });

const urlsOf = (request: ChatRequest) =>
  (request.messages[0]!.content as { image_url?: { url: string } }[]).flatMap(({ image_url }) => image_url?.url ?? []);

async function looked(world: FakeShow, num_outputs?: 1 | 2, id = "x") {
  return world.run(looks(num_outputs), {}, { id, reuse: true });
}

test("pictures are sent with the question, and the journal holds their hashes only", async () => {
  const world = await openFakeShow({ says: () => "a boat" });
  const bytes: Uint8Array[] = [];
  world.paidService.picture = () => {
    bytes.push(greyPng(8 * (bytes.length + 1)));
    return bytes.at(-1)!;
  };
  expect(await looked(world, 2)).toMatchObject({ status: "succeeded", outputs: { said: "a boat" } });
  const [request] = requestsOf(world) as [ChatRequest];
  expect(request).not.toHaveProperty("images");
  const urls = bytes.map((one) => `data:image/png;base64,${Buffer.from(one).toString("base64")}`);
  expect(new Set(urlsOf(request))).toEqual(new Set(urls));
  expect(JSON.stringify(await world.journal.read("x"))).not.toContain("base64");
  // The same pictures and question are not asked again.
  await looked(world, 2, "y");
  expect(world.paidService.chats.size).toBe(1);
});

test("a picture that is too large, or too many of them, are refused before anything is sent, and cost nothing", async () => {
  const world = await openFakeShow({ says: () => "a boat" });
  world.paidService.picture = () => Buffer.concat([greyPng(8), Buffer.alloc(4 * 1024 * 1024)]);
  const result = await looked(world);
  const reason = /^PICTURES_UNFIT: the images in the images field total 4194\d+ bytes, but .+ at most 3670016/;
  expect(stepOf(result, "said")).toMatchObject({ status: "failed", reason: expect.stringMatching(reason) });
  expect([result.status, result.report.held, world.paidService.chats.size]).toEqual(["failed", "0.00", 0]);
});
