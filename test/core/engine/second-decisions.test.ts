import fc from "fast-check";
import { expect, test } from "vitest";
import { type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const RICH = "5";
/** Enough for what is chosen from, and for nothing that comes of the choice. */
const POOR = "0.15";

const takes = pipelineOf("takes", ({ job, choose, task }) => {
  const looks = job("looks", models.image, { prompt: "looks", num_outputs: 2 });
  const best = choose("best", looks.outputs(), { by: "person" });
  const words = task("words", {}, () => "a quay");
  return { film: job("film", models.image, { prompt: words, images: [best] }) };
});

type Word = 0 | 1 | "reject";
type Action = Word | "resume poor" | "resume rich";

const begun = async () => {
  const life = await openFakeShow();
  await life.run(takes, {}, { budget: RICH });
  return life;
};
const say = ({ show }: FakeShow, word: Word) =>
  word === "reject" ? show.reject("x", "best") : show.approve("x", "best", { pick: word });
const film = ({ paidService }: FakeShow) => [...paidService.jobs.values()].find(({ body }) => body.includes("quay"));

async function live(actions: readonly Action[]): Promise<void> {
  const life = await begun();
  const { show, paidService } = life;
  const { outputs } = paidService.jobs.get("job_1")!;
  let last: Word | null = null;
  for (const action of actions) {
    if (action === "resume poor" || action === "resume rich") {
      await life.resume({ budget: action === "resume rich" ? RICH : POOR });
    } else {
      const { status } = await show.show("x");
      const isOpen = film(life) === undefined && status === "paused";
      const refusal = await say(life, action).then(
        () => null,
        (error: { readonly code: string; readonly next: string }) => error,
      );
      expect(refusal === null, `${action} of ${actions.join(", ")}`).toBe(isOpen);
      if (refusal === null) last = action;
      else expect([refusal.code, refusal.next]).toEqual(["INVALID_OPTION", expect.stringContaining("--rerun best")]);
    }
    const best = (await show.show("x")).steps.find(({ path }) => path === "best")!;
    expect(best.approval?.approved ?? null).toBe(last === null ? null : last !== "reject");
    expect(best.chosen?.index ?? null).toBe(last === "reject" ? null : last);
  }
  const bought = film(life);
  if (bought !== undefined) expect(bought.body).toContain(outputs[last as 0 | 1]!.assetId);
  expect(paidService.jobs.size).toBeLessThanOrEqual(2);
}

test("In whatever order people decide, resume and pay, the last word that was taken counts, and is shown", async () => {
  const action = fc.constantFrom<Action>(0, 1, "reject", "resume poor", "resume rich");
  await fc.assert(fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 7 }), live), {
    numRuns: Number(process.env.SHOWRUNNER_TEST_RUNS ?? 10),
    // A decision that was taken in and paid nothing is taken back: the steps that began on it begin again.
    examples: [[[0, "resume poor", 1, "resume rich"]]],
  });
}, 60_000);

test("After a purchase another decision is refused, and the command it names asks again", async () => {
  const life = await begun();
  await say(life, 0);
  await life.resume({ budget: RICH });
  await expect(say(life, "reject")).rejects.toThrow("best was already approved, and the run has ended");
  expect((await life.resume({ rerun: ["best"] })).pause?.reason).toBe("approval");
  await say(life, "reject");
  await life.resume({ budget: RICH });
  expect(life.paidService.jobs.size).toBe(2);
});
