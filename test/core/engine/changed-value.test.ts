import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Showrunner } from "../../../src/index.ts";
import { eventsOf, type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

type Value = NonNullable<NonNullable<Parameters<Showrunner["approve"]>[2]>["value"]>;

const RICH = "5";
/** Enough for the chat, and for no picture that comes of it. */
const POOR = "0.15";
const board = z.object({ title: z.string().max(40), shots: z.array(z.string()).min(1) });
const SAID = { title: "a quay", shots: ["a boat"] };

const boards = pipelineOf("boards", ({ chat, task, approve, choose, job }) => {
  const made = chat("board", "chat-1", { prompt: "a board" }, { schema: board, maxCost: "0.10" });
  const fine = approve("fine", made);
  const again = approve("again", fine.at("title"));
  const line = approve(
    "line",
    task("write", {}, () => "a line"),
  );
  const said = choose("said", [line, made.at("title")], { by: "person" });
  const still = approve("still", job("look", models.image, { prompt: "look" }));
  return {
    film: job("film", models.image, { prompt: again }),
    end: job("end", models.image, { prompt: said, images: [still] }),
  };
});

const single = pipelineOf("single", ({ chat, approve, job }) => {
  const made = chat("board", "chat-1", { prompt: "a board" }, { schema: board, maxCost: "0.10" });
  return { film: job("film", models.image, { prompt: approve("fine", made).at("title") }) };
});

type Of = typeof boards | typeof single;

async function begun(of: Of): Promise<FakeShow> {
  const life = await openFakeShow({ says: () => JSON.stringify(SAID) });
  await life.run(of, {}, { budget: RICH });
  return life;
}

/** As another process does that finds the journal of one that is gone. */
async function resumed({ paidService, journal, mediaDir }: FakeShow, of: Of, budget = RICH) {
  const { resume } = await openFakeShow({ paidService, journal, mediaDir });
  return resume({ pipeline: of, budget });
}

const stepOf = async ({ show }: FakeShow, path: string) =>
  (await show.show("x")).steps.find((step) => step.path === path)!;

describe("a value that is approved in place of the one shown", () => {
  test("is what all uses that come after it, whatever of it they take; what was made stays in the run", async () => {
    const life = await begun(boards);
    await life.show.approve("x", "fine", { value: { ...SAID, title: "a pier" } });
    await life.show.approve("x", "line", { value: "a slower line", note: "too fast" });
    await life.show.approve("x", "still");
    await resumed(life, boards);
    await life.show.approve("x", "again", { value: "a long pier" });
    await life.show.approve("x", "said", { pick: "line" });
    expect((await resumed(life, boards)).status).toBe("succeeded");
    expect(life.paidService.prompts.toSorted()).toEqual(["a long pier", "a slower line", "look"]);
    expect((await stepOf(life, "board")).value).toEqual(SAID);
    expect(await stepOf(life, "fine")).toMatchObject({ value: { title: "a pier" }, approval: { approved: true } });
    const decided = { type: "approval.decided", step: "line", value: "a slower line", note: "too fast" };
    expect(await eventsOf(life)).toContainEqual(expect.objectContaining(decided));
  });

  test.each<[string, string, unknown, RegExp]>([
    ["lacks a field", "fine", { title: "a pier" }, /schema of board: .*shots/],
    ["has a field of another type", "fine", { title: 3, shots: ["a"] }, /schema of board: .*\/title must be string/],
    ["is text where the schema asks for an object", "fine", JSON.stringify(SAID), /it must be object/],
    ["is a number where a task made text", "line", 3, /is a number, but write produced text/],
    ["stands in place of a picture", "still", "a text", /in still: only a single value can be edited/],
    ["is not JSON", "fine", { ...SAID, title: new Date(0) }, /not plain JSON/],
    ["is too long", "line", "x".repeat(1_000_001), /longer than 1000000 characters/],
  ])("is refused where it %s, and nothing is decided", async (_what, step, value, message) => {
    const life = await begun(boards);
    const refused = life.show.approve("x", step, { value: value as Value });
    await expect(refused).rejects.toMatchObject({
      code: "INVALID_OPTION",
      option: "value",
      message: expect.stringMatching(message),
      next: expect.stringContaining("showrunner approve x"),
    });
    expect(await life.journal.inbox("x")).toEqual([]);
  });

  test("is gone once the step is asked again", async () => {
    const life = await begun(single);
    await life.show.approve("x", "fine", { value: { ...SAID, title: "a pier" } });
    await resumed(life, single);
    await life.resume({ pipeline: single, rerun: ["fine"], budget: RICH });
    expect(await stepOf(life, "fine")).toMatchObject({ status: "awaiting-approval", value: null, approval: null });
  });
});

type Word = "as shown" | "a pier" | "a mole" | "reject";
type Action = Word | "poor" | "rich";

async function live(actions: readonly Action[]): Promise<void> {
  const life = await begun(single);
  let last: Word | null = null;
  for (const action of actions) {
    if (action === "poor" || action === "rich") {
      await resumed(life, single, action === "rich" ? RICH : POOR);
      continue;
    }
    const isOpen = life.paidService.prompts.length === 0 && (await life.show.show("x")).status === "paused";
    const value = action === "as shown" ? {} : { value: { ...SAID, title: action } };
    const said = action === "reject" ? life.show.reject("x", "fine") : life.show.approve("x", "fine", value);
    const isTaken = await said.then(
      () => true,
      () => false,
    );
    expect(isTaken, `${action} of ${actions.join(", ")}`).toBe(isOpen);
    if (isTaken) last = action;
    const changed = last === "a pier" || last === "a mole" ? { ...SAID, title: last } : null;
    expect((await stepOf(life, "fine")).value).toEqual(changed);
  }
  const bought = life.paidService.prompts;
  expect(bought.length).toBeLessThanOrEqual(1);
  if (bought.length > 0) expect(bought).toEqual([last === "as shown" ? SAID.title : last]);
  expect(life.paidService.chats.size).toBe(1);
}

test("In whatever order people change, decide and resume, the last word that was taken is bought, once", async () => {
  const action = fc.constantFrom<Action>("as shown", "a pier", "a mole", "reject", "poor", "rich");
  await fc.assert(fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 5 }), live), {
    numRuns: Number(process.env.SHOWRUNNER_TEST_RUNS ?? 8),
  });
}, 60_000);
