import fc from "fast-check";
import { expect, test } from "vitest";
import { type ChatRequest, ConnectionError } from "../../../src/core/api/index.ts";
import { eventText } from "../../../src/core/journal/events.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import type { Reference } from "../../../src/core/plan/plan.ts";
import { apiError, during, type FakeShow, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";
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

async function typesOf({ journal }: FakeShow): Promise<readonly string[]> {
  return (await journal.read("x")).map(({ event }) => event.type).filter((type) => type.startsWith("chat."));
}

test("an answer is the step's value, its cost is what its job was charged", async () => {
  const world = await openFakeShow({ says: () => "once upon a time", chatMicros: 1_234 });
  const result = await asked(world);
  expect(result).toMatchObject({
    status: "succeeded",
    outputs: { story: "once upon a time" },
    cost: { micros: 1_234 },
  });
  const [step] = result.report.steps;
  expect(step).toMatchObject({ kind: "chat", model: "chat-1", value: "once upon a time" });
  expect(step!.attempts).toMatchObject([{ n: 1, job_id: "job_chat_1", status: "completed", cost: "0.001234" }]);
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
    expect(await asked(told, chatStep(), 100_000)).toMatchObject({
      cost: { micros: 1_234 },
      report: { unconfirmed: "0.00" },
    });
    expect(told.clock.now() - before).toBeLessThan(1_000);

    const counted = await withoutJobs(refusal, { usage, costMicros: null }, { pricing });
    expect(await asked(counted, chatStep(), 100_000)).toMatchObject({
      cost: { micros: 1_700 },
      report: { unconfirmed: "0.0017" },
    });
    expect(counted.clock.now() - before).toBeLessThan(3_000);
    const lines = (await counted.journal.read("x")).map(({ event }) => eventText(event));
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
  const [first, second] = [...world.paidService.chats.values()].map(({ request }) => request);
  expect(first).toMatchObject({
    response_format: { type: "json_schema", json_schema: { name: "story", schema: titled } },
  });
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
  const events = (await world.journal.read("x")).map(({ event }) => event);
  expect(events).toContainEqual(
    expect.objectContaining({ type: "chat.failed", answer: "\ufffd[2Jsee https://s3.test/a" }),
  );
});

test("repairs are bounded in number and by what is left of the maximum", async () => {
  const world = await openFakeShow({ says: () => "no JSON at all" });
  const result = await asked(world, chatStep({ schema: titled, repairs: 2 }));
  expect(result.status).toBe("failed");
  expect(result.report.steps[0]!.reason).toMatch(/ANSWER_INVALID: The answer is not JSON/);
  expect(world.paidService.chats.size).toBe(3);

  const poor = await openFakeShow({ says: () => "no JSON at all", chatMicros: 5_000 });
  const spent = await asked(poor, chatStep({ schema: titled, repairs: 2 }));
  expect(spent.report.steps[0]!.reason).toMatch(/the step's maxCost is used up/);
  expect(poor.paidService.chats.size).toBe(1);
});

test("an empty answer is repaired where there is a schema, and else paid no oftener than allowed", async () => {
  const world = await openFakeShow({ says: (_, nth) => (nth === 0 ? "" : '{"title": "T"}') });
  expect(await asked(world, chatStep({ schema: titled }))).toMatchObject({ status: "succeeded" });
  const [, second] = [...world.paidService.chats.values()].map(({ request }) => request);
  expect(second!.messages.map(({ role }) => role)).toEqual(["user", "user"]);

  const mute = await openFakeShow({ says: () => "" });
  const policy = { attempts: 2, maxCostMicros: 5_000, keep: true };
  const result = await asked(mute, chatStep({ policy }));
  expect(result.report.steps[0]!.reason).toBe("ANSWER_INVALID: The answer is empty.");
  expect(mute.paidService.chats.size).toBe(2);
});

test("a charge above the maximum counts in full and is told", async () => {
  const world = await openFakeShow({ says: () => "dear words", chatMicros: 9_000 });
  const result = await asked(world);
  expect(result).toMatchObject({ status: "succeeded", cost: { micros: 9_000 } });
  expect(result.report.steps[0]!.reason).toBe("cost 0.009 USD, more than the 0.005 USD allowed");
});

test("the maximum is held before the request: over the budget, nothing is sent", async () => {
  const world = await openFakeShow();
  const result = await asked(world, chatStep(), 4_999);
  expect(result).toMatchObject({ status: "paused", pause: { reason: "budget" } });
  expect(world.paidService.chats.size).toBe(0);
});

test("a refusal that may pass is waited out, one that is for good fails the step", async () => {
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

  const strict = await openFakeShow({
    says: () => {
      throw apiError(422, "MODERATION_FAILED");
    },
  });
  const refused = await asked(strict);
  expect(refused.report.steps[0]).toMatchObject({
    status: "failed",
    reason: expect.stringMatching(/^MODERATION_FAILED/),
  });
  expect(refused.cost.micros).toBe(0);
});

test("a request that was sent and never answered may have been charged: its maximum counts, and it is sent again", async () => {
  let lost = true;
  const world = await openFakeShow({
    says: () => {
      if (!lost) return "heard";
      lost = false;
      throw new ConnectionError("cut", { sent: true });
    },
  });
  const result = await asked(world);
  expect(result).toMatchObject({ status: "succeeded", report: { unconfirmed: "0.005", cost: "0.001" } });
  expect(await typesOf(world)).toEqual(["chat.intended", "chat.abandoned", "chat.intended", "chat.answered"]);
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
  expect({ status, unconfirmed: report.unconfirmed }).toEqual({ status: "succeeded", unconfirmed: "0.009" });
  expect(await world.journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros: cost.micros + 9_000 });
});

test("sent twice and never answered, it pauses for consent before it may be charged again: each resume allows one more, five in all", async () => {
  const world = await openFakeShow({
    says: () => {
      throw new ConnectionError("cut", { sent: true });
    },
  });
  const sends = async () => (await typesOf(world)).filter((type) => type === "chat.intended").length;
  const first = await asked(world);
  expect(first).toMatchObject({ status: "paused", pause: { reason: "unanswered" } });
  expect(first.pause?.message).toMatch(/did not answer 2 requests.*To send the request once more, resume the run/);
  for (const most of [3, 4]) {
    expect(await sends()).toBe(most - 1);
    const again = await world.resume({ id: first.id });
    expect(again).toMatchObject({ status: "paused", pause: { reason: "unanswered" } });
  }
  const last = await world.resume({ id: first.id });
  expect(await sends()).toBe(5);
  expect(last.report.steps[0]!.reason).toMatch(/^5 requests were never answered/);
});

test("an empty wallet pauses the run; with funds it asks again, once [G27]", async () => {
  let funded = false;
  const funds = { balanceMicros: 0, requiredMicros: 1_000, currency: "USD", fundingUrl: "https://f.test/" };
  const world = await openFakeShow({
    says: () => {
      if (!funded) throw apiError(402, "INSUFFICIENT_BALANCE", { billing: { ...funds, reason: null } });
      return "paid";
    },
  });
  const paused = await asked(world);
  expect(paused).toMatchObject({ status: "paused", pause: { reason: "funds", fundingUrl: "https://f.test/" } });
  funded = true;
  const result = await world.resume();
  expect(result).toMatchObject({ status: "succeeded", outputs: { story: "paid" }, cost: { micros: 1_000 } });
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
  const next = chatStep({
    path: "next",
    fingerprint: "f1_next",
    needs: ["story"],
    input: { messages: [{ role: "user", content: value }] },
  });
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
    return {
      said: chat("said", "chat-1", { prompt: "What is it?", images: [picture.outputs()] }, { maxCost: "0.01" }),
    };
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
  const { request } = [...world.paidService.chats.values()][0]!;
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
  expect(result.status).toBe("failed");
  expect(stepOf(result, "said")).toMatchObject({
    status: "failed",
    reason: expect.stringMatching(/^PICTURES_UNFIT: the images field contains 4194\d+ bytes; .+ at most 3670016/),
  });
  expect([world.paidService.chats.size, (await world.journal.ledger("x")).heldMicros]).toEqual([0, 0]);
});
