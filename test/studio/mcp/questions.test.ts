import { CallToolResultSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isFull } from "../../support/sample.ts";
import { clientOf, decide, rawClient, type SessionWorld, sessionWorld } from "./support/in-memory.ts";

let world: SessionWorld;
let films = 0;
beforeAll(async () => {
  world = await sessionWorld(100_000_000);
});
afterAll(() => world[Symbol.asyncDispose]());

const newFilm = () => world.waitingFilm(`film-${++films}`);
const accept = (content?: Record<string, unknown>) => ({ action: "accept", content }) as ElicitResult;
const call = (id: string, run: string) => ({
  ...{ jsonrpc: "2.0", id, method: "tools/call" },
  params: { name: "approve_step", arguments: { run, step: "ok", decision: "approve" } },
});
const isQuestion = ({ method }: { readonly method?: string }) => method === "elicitation/create";

/** Waits for its decision, as before anybody was asked: one picture is paid for. */
async function expectUndecided(run: string): Promise<void> {
  await world.session.idle();
  expect(await world.decisions(run)).toBe(0);
  expect(await world.journal.inbox(run)).toEqual([]);
  const { status, cost } = await world.show.show(run);
  expect([status, cost]).toEqual(["paused", "0.02"]);
}

describe("an answer of the person decides nothing and buys nothing", () => {
  test.each<[string, ElicitResult]>([
    ["that is a no", { action: "decline" }],
    ["that was cancelled", { action: "cancel" }],
    ["without what was filled in", accept()],
    ["without a decision", accept({})],
    ["with another decision than was asked for", accept({ decision: "maybe" })],
    ["with a note that is no text", accept({ decision: "approve", note: 5 })],
    ["with a list for a decision", accept({ decision: ["approve"] })],
    ["that agrees to something else", accept({ agree: true })],
    ["of no known kind", { action: "yes" } as unknown as ElicitResult],
    ["that is no object", 5 as unknown as ElicitResult],
  ])("%s", async (_what, answer) => {
    const run = await newFilm();
    const client = await clientOf(world.session, () => answer);
    expect((await decide(client, run)).isError).toBe(true);
    await expectUndecided(run);
  });

  test("that comes after the agent gave up", async () => {
    const run = await newFilm();
    const raw = await rawClient(world.session);
    raw.send(call("a", run));
    const { id } = await raw.until(isQuestion);
    raw.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "a" } });
    await raw.until(({ method }) => method === "notifications/cancelled");
    raw.send({ jsonrpc: "2.0", id, result: accept({ decision: "approve" }) });
    raw.send({ jsonrpc: "2.0", id: "b", method: "ping" });
    await raw.until((message) => message.id === "b");
    await expectUndecided(run);
  });

  test("that comes after ten minutes, when the agent has been told that none came", async () => {
    const run = await newFilm();
    const raw = await rawClient(world.session);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      raw.send(call("a", run));
      const { id } = await raw.until(isQuestion);
      let told: unknown;
      const answered = raw.until((message) => message.id === "a").then((message) => (told = message));
      await vi.advanceTimersByTimeAsync(10 * 60_000 - 1);
      expect(told).toBeUndefined();
      await vi.advanceTimersByTimeAsync(1);
      const { content, isError } = CallToolResultSchema.parse((await answered).result);
      expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining("did not answer")]);
      raw.send({ jsonrpc: "2.0", id, result: accept({ decision: "approve" }) });
    } finally {
      vi.useRealTimers();
    }
    raw.send({ jsonrpc: "2.0", id: "b", method: "ping" });
    await raw.until((message) => message.id === "b");
    await expectUndecided(run);
  });

  test("of a client that vanishes while it is asked", async () => {
    const run = await newFilm();
    const raw = await rawClient(world.session);
    raw.send(call("a", run));
    await raw.until(isQuestion);
    await raw.close();
    await expectUndecided(run);
  });

  test("that comes after somebody decided in the terminal", async () => {
    const run = await newFilm();
    const client = await clientOf(world.session, async () => {
      await world.show.reject(run, "ok", { note: "no" });
      return accept({ decision: "approve" });
    });
    expect(JSON.stringify((await decide(client, run)).content)).toContain("is no longer waiting for this decision");
    expect((await world.journal.inbox(run)).map(({ message }) => message.type)).toEqual(["reject"]);
    expect((await world.show.show(run)).cost).toBe("0.02");
  });
});

test("an answer that comes twice decides once", async () => {
  const run = await newFilm();
  const raw = await rawClient(world.session);
  raw.send(call("a", run));
  const { id } = await raw.until(isQuestion);
  raw.send({ jsonrpc: "2.0", id, result: accept({ decision: "approve" }) });
  raw.send({ jsonrpc: "2.0", id, result: accept({ decision: "reject" }) });
  const { result } = await raw.until((message) => message.id === "a");
  expect(result).not.toHaveProperty("isError");
  await world.session.idle();
  expect([await world.decisions(run), (await world.show.show(run)).cost]).toEqual([1, "0.045"]);
});

test("whatever is answered to parallel questions, in whatever order: one decision counts, by a yes only", async () => {
  const answer = fc.record({
    reply: fc.constantFrom<ElicitResult>(
      accept({ decision: "approve" }),
      accept({ decision: "reject" }),
      accept({ decision: "never" }),
      { action: "decline" },
      { action: "cancel" },
    ),
    turn: fc.nat(3),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(answer, { minLength: 2, maxLength: 4 }), async (answers) => {
      const run = await newFilm();
      const asked = answers.map(() => Promise.withResolvers<void>());
      const released = answers.map(() => Promise.withResolvers<void>());
      const calls = answers.map(async ({ reply }, at) => {
        const client = await clientOf(world.session, async () => {
          asked[at]!.resolve();
          await released[at]!.promise;
          return reply;
        });
        return decide(client, run);
      });
      await Promise.all(asked.map(({ promise }) => promise));
      const order = answers.map((_, at) => at).sort((a, b) => answers[a]!.turn - answers[b]!.turn);
      for (const at of order) released[at]!.resolve();
      const answered = await Promise.all(calls);
      await world.session.idle();
      const said = answers.filter(({ reply }) => ["approve", "reject"].includes(String(reply.content?.["decision"])));
      const counted = answered.filter(({ isError }) => isError !== true).length;
      expect(counted).toBe(Math.min(1, said.length));
      expect(await world.decisions(run)).toBe(counted);
      const isApproved = answered.some(({ isError }, at) => {
        return isError !== true && answers[at]!.reply.content?.["decision"] === "approve";
      });
      expect((await world.show.show(run)).cost).toBe(isApproved ? "0.045" : "0.02");
    }),
    { numRuns: isFull ? 100 : 5 },
  );
});

describe("asked for the result of a task that waits", () => {
  const resultOf = async (run: string, reply: (message: string) => ElicitResult) => {
    const client = await clientOf(world.session, reply);
    return client.experimental.tasks.getTaskResult(run, CallToolResultSchema);
  };

  test("the person decides, and the result is that of the whole run", async () => {
    const run = await newFilm();
    const asked: string[] = [];
    const result = await resultOf(run, (message) => {
      asked.push(message);
      return accept({ decision: "approve" });
    });
    expect(asked).toEqual([`Run ${run} needs your decision on ok`]);
    expect(result).toMatchObject({ structuredContent: { status: "succeeded", cost: "0.045" } });
    expect(await world.decisions(run)).toBe(1);
  });

  test("a no leaves it waiting", async () => {
    const run = await newFilm();
    const result = await resultOf(run, () => ({ action: "decline" }));
    expect(result).toMatchObject({ structuredContent: { status: "paused", waiting: [{ step: "ok" }] } });
    await expectUndecided(run);
  });

  test("an answer that fits nothing is an error, and leaves it waiting", async () => {
    const run = await newFilm();
    await expect(resultOf(run, () => accept({ decision: "maybe" }))).rejects.toThrow(/schema/);
    await expectUndecided(run);
  });
});

describe("an agent's own decision", () => {
  const own = { allowApprove: true, mayAsk: false };

  test("is not recorded where the server has no budget", async () => {
    const run = await newFilm();
    const client = await clientOf(world.sessionWith({ ...own, budgetMicros: null }));
    expect(JSON.stringify((await decide(client, run)).content)).toContain("no budget");
    await expectUndecided(run);
  });

  test("is not recorded where the run would pass what one may cost, nor is the run resumed", async () => {
    const run = await newFilm();
    const client = await clientOf(world.sessionWith({ ...own, runBudgetMicros: 30_000 }));
    expect(JSON.stringify((await decide(client, run)).content)).toContain("one run can cost at most 0.03");
    const resumed = await client.callTool({ name: "resume_run", arguments: { run } });
    expect(JSON.stringify(resumed.content)).toContain("one run can cost at most 0.03");
    await expectUndecided(run);
  });

  test("is not made up for by starting the same run again, once a person decided in the terminal", async () => {
    const run = await newFilm();
    const small = world.sessionWith({ ...own, runBudgetMicros: 30_000 });
    const client = await clientOf(small);
    await world.show.approve(run, "ok");
    const name = run.replace("agent-", "");
    const again = { pipeline: "film", name, input: { name } };
    const started = await client.callTool({ name: "run_pipeline", arguments: again });
    await small.idle();
    expect(JSON.stringify(started.content)).toContain("one run can cost at most 0.03");
    expect((await world.show.show(run)).cost).toBe("0.02");
  });

  test("is not recorded where what it leads to is more than is left of the budget; a rejection is", async () => {
    await using small = await sessionWorld(50_000, own);
    const first = await small.waitingFilm("first");
    const client = await clientOf(small.session);
    const input = { subject: "x" };
    const { id: quote } = await small.session.quote("poster", input, { keep: true });
    await client.callTool({ name: "run_pipeline", arguments: { pipeline: "poster", name: "p", input, quote } });
    await small.session.idle();
    expect(JSON.stringify((await decide(client, first)).content)).toContain("this server's budget has only");
    expect(await small.decisions(first)).toBe(0);
    expect((await decide(client, first, { decision: "reject" })).isError).not.toBe(true);
    await small.session.idle();
    expect([await small.decisions(first), small.service.stats().charged_micros]).toEqual([1, 40_000]);
  });
});

test("a run is started with the quote that it was answered with first, and with that of now where it is another", async () => {
  const client = await clientOf(world.sessionWith({ allowApprove: true, mayAsk: false }));
  const input = { subject: "a quoted kite" };
  const start = async (more: object) => {
    const given = { pipeline: "poster", name: "quoted", input, ...more };
    const answer = await client.callTool({ name: "run_pipeline", arguments: given });
    return { isError: answer.isError === true, text: JSON.stringify(answer.content) };
  };
  const before = world.service.stats().jobs_created;
  const first = await start({});
  expect(first.isError).toBe(true);
  const [quote] = /quote_[0-9a-f]{24}/.exec(first.text)!;
  expect(first.text).toContain("nothing was started");
  const other = await start({ input: { subject: "another kite" }, quote });
  expect(other.text).toContain("input.subject changed");
  expect(world.service.stats().jobs_created).toBe(before);
  expect((await start({ quote })).isError).toBe(false);
  await world.session.idle();
});
