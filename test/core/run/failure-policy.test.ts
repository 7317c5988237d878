import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRunFinal, isStepFinal } from "../../../src/core/journal/state.ts";
import type { FailurePolicy } from "../../../src/core/plan/plan.ts";
import { FakeRun, type Fate, PRICE } from "./support/fake-run.ts";
import { job, planOf, ref } from "./support/plans.ts";
import { cycling, randomWorld } from "./support/random-world.ts";
import { runs } from "./support/runs.ts";

const statuses = (run: FakeRun) =>
  Object.fromEntries(Object.values(run.state.steps).map(({ path, status }) => [path, status]));

/** Three clips, of which some fail, and a film of those that are there. */
function film(fates: { readonly [path: string]: readonly Fate[] }, onFailure: FailurePolicy) {
  const clips = ["a", "b", "c"].map((path) => job(path));
  const cut = job("cut", { clips: clips.map(({ path }) => ref(path)), music: ref("music") }, { onFailure });
  const plan = planOf([...clips, job("music"), cut], { cut: ref("cut") });
  return FakeRun.through({ plan, fates, total: 8 });
}

describe("continue", () => {
  test("skips the dependents of a failed step, each with its reason; everything else is produced", () => {
    const plan = planOf([job("a"), job("b", { image: ref("a") }), job("c", { image: ref("b") }), job("d")], {
      c: ref("c"),
      d: ref("d"),
    });
    const run = FakeRun.through({ plan, fates: { a: ["failed"] } });
    expect(statuses(run)).toEqual({ a: "failed", b: "skipped", c: "skipped", d: "succeeded" });
    expect(run.state.steps.b!.reason).toBe("needs a, which failed");
    expect(run.state.steps.c!.reason).toBe("needs b, which was skipped");
    expect(run.state.status).toBe("partial");
    expect(run.state.message).toBe("a: INTERNAL: failed on paper");
  });

  test("a job with failed outputs is partial: what uses one that is there goes on, what uses all of them does not", () => {
    const plan = planOf(
      [
        job("faces", {}, { outputs: 3 }),
        job("second", { image: ref("faces", 1) }),
        job("first", { image: ref("faces", 0) }),
        job("collage", { images: ref("faces", "all") }),
      ],
      { faces: ref("faces", "all") },
    );
    const run = FakeRun.through({ plan, fates: { faces: ["partly"] } });
    expect(statuses(run)).toEqual({ faces: "partial", second: "succeeded", first: "skipped", collage: "skipped" });
    expect(run.state.steps.collage!.reason).toBe("needs all outputs of faces, but 1 of 3 failed");
    expect(run.state.status).toBe("partial");
    expect(run.state.files.map(({ name }) => name)).toEqual(["faces-1", "faces-2"]);
  });
});

describe("failFast", () => {
  test("begins nothing after the failure, and sees through what is on the service", () => {
    const plan = planOf([job("bad"), job("slow"), job("later"), job("last", { image: ref("slow") })], {}, "failFast");
    const run = FakeRun.through({ plan, fates: { bad: ["failed"], slow: ["late-bill"] }, total: 2 });
    expect(statuses(run)).toEqual({ bad: "failed", slow: "succeeded", later: "cancelled", last: "cancelled" });
    expect(run.state.steps.later!.reason).toBe("bad failed, which stops the run");
    expect(run.state.steps.slow!.attempts[0]).toMatchObject({ phase: "completed", money: "settled" });
    expect(run.state.steps.slow!.attempts[0]!.outputs[0]!.phase).toBe("downloaded");
    expect(run.state).toMatchObject({ heldMicros: 0, spentMicros: 2 * PRICE });
  });

  test("of one step stops a run that goes on after other failures", () => {
    const steps = [job("optional"), job("vital", {}, { onFailure: "failFast", after: ["optional"] })];
    const plan = planOf([...steps, job("z", {}, { after: ["vital"] })]);
    const fates = { optional: ["failed"], vital: ["failed"] } as const;
    const first = FakeRun.through({ plan: planOf([...steps.slice(0, 1), job("z")]), fates });
    expect(statuses(first)).toEqual({ optional: "failed", z: "succeeded" });
    const second = FakeRun.through({ plan, fates: { vital: ["failed"] } });
    expect(statuses(second)).toEqual({ optional: "succeeded", vital: "failed", z: "cancelled" });
  });

  test("stops the run too where a step fails before it was sent: nothing beside it is sent in the same breath", () => {
    const steps = [
      job("a"),
      job("dear", {}, { maxCostMicros: PRICE / 2, after: ["a"] }),
      job("b", {}, { after: ["a"] }),
    ];
    const run = FakeRun.through({ plan: planOf(steps, {}, "failFast") });
    expect(statuses(run)).toEqual({ a: "succeeded", dear: "failed", b: "cancelled" });
    expect(run.state.steps.dear!.reason).toBe("costs 0.10 USD, more than its maxCost of 0.05 USD");
  });

  test("does not make a failed job again, though its own policy would", () => {
    const plan = planOf([job("bad", {}, { attempts: 3 }), job("worse")], {}, "failFast");
    const run = FakeRun.through({ plan, fates: { bad: ["failed"], worse: ["refused"] } });
    expect(run.state.steps.bad!.attempts).toHaveLength(1);
  });
});

describe("quorum", () => {
  test("begins once all it uses is through and so many are there; missing ones drop out of the list", () => {
    const run = film({ b: ["failed"] }, { quorum: 2 });
    expect(statuses(run)).toMatchObject({ b: "failed", cut: "succeeded" });
    const clips = (run.state.steps.cut!.attempts[0]!.input as { clips: readonly unknown[] }).clips;
    expect(clips).toHaveLength(2);
    const log = run.log();
    for (const path of ["a", "c", "music"])
      expect(log.indexOf("cut job.submit.intended")).toBeGreaterThan(log.indexOf(`${path} succeeded`));
    expect(log.indexOf("cut job.submit.intended")).toBeGreaterThan(log.indexOf("b failed"));
  });

  test("is skipped with the count when fewer are there", () => {
    const run = film({ a: ["failed"], b: ["moderated"] }, { quorum: 2 });
    expect(statuses(run).cut).toBe("skipped");
    expect(run.state.steps.cut!.reason).toBe(
      "needs 2 results but has 1: needs output 0 of a, which does not exist; needs output 0 of b, which does not exist",
    );
  });

  test("does not do without what stands outside of lists", () => {
    const run = film({ music: ["failed"] }, { quorum: 1 });
    expect(statuses(run).cut).toBe("skipped");
    expect(run.state.steps.cut!.reason).toBe("needs output 0 of music, which does not exist");
  });

  test("counts the outputs of a partial job", () => {
    const steps = [
      job("faces", {}, { outputs: 3 }),
      job("collage", { images: ref("faces", "all") }, { onFailure: { quorum: 2 } }),
    ];
    const run = FakeRun.through({ plan: planOf(steps), fates: { faces: ["partly"] } });
    expect(statuses(run)).toEqual({ faces: "partial", collage: "succeeded" });
  });

  test("counts what it waits for where it lists nothing", () => {
    const of = (quorum: number) => {
      const steps = ["a", "b", "c"].map((path) => job(path));
      const last = job("last", {}, { after: ["a", "b", "c"], onFailure: { quorum } });
      const run = FakeRun.through({ plan: planOf([...steps, last]), fates: { b: ["failed"] } });
      return [statuses(run).last, run.state.steps.last!.reason];
    };
    expect(of(2)).toEqual(["succeeded", null]);
    expect(of(3)).toEqual(["skipped", "needs 3 results but has 2: b failed"]);
  });

  test("a text is not built from some of its pieces", () => {
    const steps = [job("a"), job("b")];
    const text = { $text: ["a picture of ", ref("a"), " and ", ref("b")] };
    const last = job("last", { about: text, images: [ref("a"), ref("b")] }, { onFailure: { quorum: 1 } });
    const run = FakeRun.through({ plan: planOf([...steps, last]), fates: { b: ["failed"] } });
    expect(statuses(run).last).toBe("skipped");
  });

  test("of the pipeline: the run has succeeded once so many returned results are there", () => {
    const returns = { clips: ["a", "b", "c"].map((path) => ref(path)) };
    const of = (quorum: number) => {
      const plan = planOf(
        ["a", "b", "c"].map((path) => job(path)),
        returns,
        { quorum },
      );
      const run = FakeRun.through({ plan, fates: { b: ["failed"] } });
      return run.state.status;
    };
    expect([of(1), of(2), of(3)]).toEqual(["succeeded", "succeeded", "partial"]);
  });
});

describe("attempts", () => {
  const attemptsOf = (fates: readonly Fate[], attempts: number) => {
    const run = FakeRun.through({ plan: planOf([job("a", {}, { attempts })]), fates: { a: fates } });
    return [run.state.steps.a!.attempts.length, run.state.steps.a!.status];
  };

  test("a failure that was refunded and may pass is tried twice more; one that was paid only as declared [G8]", () => {
    expect(attemptsOf(["failed-free", "made"], 1)).toEqual([2, "succeeded"]);
    expect(attemptsOf(["failed-free"], 1)).toEqual([3, "failed"]);
    expect(attemptsOf(["failed"], 1)).toEqual([1, "failed"]);
    expect(attemptsOf(["failed", "failed", "made"], 3)).toEqual([3, "succeeded"]);
  });

  test("what moderation or validation refused is never tried again", () => {
    expect(attemptsOf(["moderated", "made"], 5)).toEqual([1, "failed"]);
    expect(attemptsOf(["refused", "made"], 5)).toEqual([1, "failed"]);
  });
});

describe("any pipeline, with any failures, answered in any order", () => {
  test("ends, owes nothing, and gives a reason for every step that did not run [G18]", () => {
    fc.assert(
      fc.property(randomWorld, ({ world, order }) => {
        const run = new FakeRun(world);
        expect(run.run(cycling(order))).toBe(true);
        expect(isRunFinal(run.state.status)).toBe(true);
        expect(run.state.heldMicros).toBe(0);
        let paid = 0;
        for (const step of Object.values(run.state.steps)) {
          expect(isStepFinal(step.status)).toBe(true);
          if (step.status !== "succeeded") expect(step.reason).toBeTruthy();
          for (const attempt of step.attempts) {
            paid += attempt.costMicros ?? 0;
            if (attempt.jobId !== null) expect(["completed", "failed"]).toContain(attempt.phase);
            for (const { status, phase } of attempt.outputs)
              if (status === "COMPLETED") expect(phase).toBe("downloaded");
          }
        }
        expect(run.state.spentMicros).toBe(paid);
      }),
      runs(300),
    );
  });

  test("submits nothing once a failure that stops the run is known", () => {
    fc.assert(
      fc.property(randomWorld, ({ world, order }) => {
        const run = new FakeRun({ ...world, plan: { ...world.plan, onFailure: "failFast" } });
        run.run(cycling(order));
        const ownOf = (path: string) => {
          const step = run.state.planned.plan.steps.find((one) => one.path === path)!;
          return ("policy" in step ? step.policy.onFailure : undefined) ?? "failFast";
        };
        let known = false;
        for (const { event } of run.events) {
          if (event.type === "job.submit.intended" || event.type === "chat.intended") expect(known).toBe(false);
          if (event.type === "step.finished" && event.status === "failed" && ownOf(event.step) === "failFast")
            known = true;
        }
      }),
      runs(300),
    );
  });
});
