import { describe, expect, test } from "vitest";
import { type AttemptState, newAttempt, type RunState } from "../../../src/core/journal/state.ts";
import type { ChatStep } from "../../../src/core/plan/kinds/chat.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import type { DecideContext } from "../../../src/core/run/decision-builder.ts";
import { decidedOf, NOW, runningState } from "./support/decided.ts";
import { chat } from "./support/steps.ts";

const asked = { holdMicros: 50, expectedMicros: 50, intcompletedAt: 1, completedAt: 1 };
const failure = (code: string, retryable = true) => ({ code, message: "no", retryable });
const refused = (code: string, retryable = true) => ({
  phase: "failed",
  costMicros: 0,
  error: failure(code, retryable),
});
const charged = { phase: "failed", costMicros: 7, error: failure("INTERNAL") };
const unanswered = { phase: "abandoned" };
const bad = (answer: string, costMicros = 5) => ({ phase: "failed", costMicros, answer, error: failure("BAD_ANSWER") });

/** What is decided of a chat after these requests, a second after the last one ended. */
function decided(
  chats: readonly object[],
  {
    plan = chat("talk"),
    context = {},
    more = {},
    own = {},
  }: {
    readonly plan?: ChatStep;
    readonly context?: Partial<DecideContext>;
    readonly more?: Partial<RunState>;
    readonly own?: object;
  } = {},
) {
  const all = chats.map((one, index) => ({ ...newAttempt(index + 1, "chat"), ...asked, ...one }) as AttemptState);
  const step = { status: all.length > 0 ? "running" : "waiting", startedAt: 1, attempts: all, ...own };
  return decidedOf(runningState([[plan, step]], more), context);
}

const finished = (status: string, reason: string | null) => [{ type: "step.finished", step: "talk", status, reason }];
const failed = (reason: string) => finished("failed", reason);
/** The request that is sent. */
const sent = (attempt: number, holdMicros = 50, input: Json = { messages: [] }) => ({
  events: [{ type: "chat.intended", step: "talk", attempt, model: "talk", input, holdMicros }],
  commands: [{ type: "chat", step: "talk", attempt, model: "talk", input, maxCostMicros: holdMicros }],
  wakeAt: null,
});

describe("a chat that was never asked", () => {
  test("is begun and asked for at most its maxCost, which is written down before it leaves", () => {
    const { events, commands } = sent(1);
    expect(decided([])).toEqual({
      events: [{ type: "step.started", step: "talk" }, ...events],
      commands,
      wakeAt: null,
    });
  });

  test("needs a maximum, of its own or of the run", () => {
    const plan = chat("talk", { maxCostMicros: null });
    expect(decided([], { plan, more: { maxUnquotedMicros: 20 } }).commands).toMatchObject([{ maxCostMicros: 20 }]);
    const message =
      "talk (talk) has no known price or maxCost. Set maxCost on the step, or resume with --max-unquoted USD.";
    expect(decided([], { plan })).toMatchObject({
      events: [{ type: "run.paused", reason: "budget", message }],
      commands: [],
    });
  });

  test("reserves more where its model charged more than was allowed", () => {
    const overcharges = { talk: { worst: null, unquotedMicros: 90, times: 1, excessMicros: 40 } };
    expect(decided([], { more: { overcharges } })).toMatchObject({
      events: [{ type: "step.started" }, { type: "chat.intended", holdMicros: 90 }],
      commands: [{ maxCostMicros: 50 }],
    });
  });

  test("waits while it may not be sent", () => {
    const notBefore = new Map([["chat:talk#1", NOW + 5]]);
    expect(decided([], { context: { notBefore } })).toEqual({ events: [], commands: [], wakeAt: NOW + 5 });
  });
});

describe("a chat under way", () => {
  const sentOne = { phase: "submitting.sent", completedAt: null };

  test("is left alone while this process waits for the answer", () => {
    const active = new Set(["chat:talk#1"]);
    expect(decided([sentOne], { context: { active } })).toEqual({ events: [], commands: [], wakeAt: null });
  });

  test("of a process that is gone is abandoned: it may have been charged", () => {
    const abandoned = { type: "chat.abandoned", step: "talk", attempt: 1, holdMicros: 50 };
    expect(decided([sentOne])).toMatchObject({ events: [abandoned], commands: [] });
  });
});

describe("an answered chat", () => {
  const answered = (costMicros: number | null) =>
    decided([{ phase: "completed", costMicros }], { own: { value: "yes" } }).events;

  test("has succeeded, and says what it was charged above its maximum", () => {
    for (const cost of [null, 0, 50]) expect(answered(cost)).toEqual(finished("succeeded", null));
    const why = "cost 0.000051 USD, more than the 0.00005 USD allowed";
    expect(answered(51)).toEqual(finished("succeeded", why));
  });

  test("is made of a value that was taken over too", () => {
    expect(
      decided([], { own: { value: null, reusedFrom: { runId: "r0", step: "talk", jobId: null, completedAt: 1 } } })
        .events,
    ).toEqual(finished("succeeded", null));
  });
});

describe("a refused chat", () => {
  test.each(["RESOURCE_EXHAUSTED", "UNAVAILABLE", "INSUFFICIENT_BALANCE", "UNSENT", "ACCOUNT_REFUSED"])(
    "is asked again however often, where that says nothing of it: %s",
    (code) => {
      const many = Array.from({ length: 9 }, () => refused(code, false));
      expect(decided(many)).toEqual(sent(10));
    },
  );

  test("is asked twice more where that cost nothing and may pass; waits for the service do not count", () => {
    const often = (times: number) => Array.from({ length: times }, () => refused("INTERNAL"));
    expect(decided(often(2))).toEqual(sent(3));
    expect(decided(often(3)).events).toEqual(failed("INTERNAL: no"));
    expect(decided([refused("UNAVAILABLE"), ...often(2)])).toEqual(sent(4));
    expect(decided(often(3), { plan: chat("talk", { attempts: 4 }) })).toEqual(sent(4));
  });

  test("is asked as often as its policy says where it was charged, and no more where it would be refused again", () => {
    expect(decided([charged]).events).toEqual(failed("INTERNAL: no"));
    expect(decided([charged], { plan: chat("talk", { attempts: 2 }) })).toEqual(sent(2));
    expect(decided([refused("INVALID", false)]).events).toEqual(failed("INVALID: no"));
  });

  test("is asked again after a second, which doubles each time up to half a minute", () => {
    const waits = (times: number, code = "UNAVAILABLE") =>
      decided(Array.from({ length: times }, () => ({ ...refused(code), completedAt: NOW }))).wakeAt;
    expect([waits(1), waits(2), waits(5), waits(6), waits(20)]).toEqual(
      [1_000, 2_000, 16_000, 30_000, 30_000].map((ms) => NOW + ms),
    );
    expect(decided([{ ...refused("UNAVAILABLE"), completedAt: NOW - 1_000 }])).toEqual(sent(2));
    expect(decided([{ ...refused("UNAVAILABLE"), completedAt: NOW - 999 }])).toEqual({
      events: [],
      commands: [],
      wakeAt: NOW + 1,
    });
  });

  test("counts from the last rerun of its step on", () => {
    const own = { superseded: 3 };
    const { events, commands } = decided([charged, charged, charged, refused("INTERNAL")], { own });
    expect({ events, commands, wakeAt: null }).toEqual(sent(5));
    expect(decided([charged, charged, charged], { own })).toEqual(sent(4));
  });
});

describe("a chat that was never answered", () => {
  const again = { ...unanswered, mayRepeat: true };

  test("is asked once more by itself, then only when a person resumes the run", () => {
    expect(decided([unanswered])).toEqual(sent(2));
    const message =
      "talk: talk did not answer 2 requests; each may have cost up to 0.00005 USD. To send the request once more, resume the run; to see what was charged, run: showrunner reconcile";
    expect(decided([unanswered, unanswered]).events).toMatchObject([
      { type: "run.paused", reason: "unanswered", message },
    ]);
    expect(decided([unanswered, again])).toEqual(sent(3));
  });

  test("fails after five", () => {
    const often = (times: number) => Array.from({ length: times }, () => again);
    expect(decided(often(4))).toEqual(sent(5));
    expect(decided(often(5)).events).toEqual(failed("5 requests were never answered; each may have been charged"));
  });
});

describe("an answer that does not meet the schema", () => {
  const plan = chat("talk", {}, 2, { messages: ["hello"], top: 1 });
  const complaint = { role: "user", content: "no\nAnswer again, with nothing but the corrected JSON." };
  const said = (content: string) => ({ role: "assistant", content });

  test("is sent back with what is wrong with it, for what is left of the maximum", () => {
    expect(decided([{ ...bad("one"), completedAt: NOW }], { plan })).toEqual(
      sent(2, 45, { messages: ["hello", said("one"), complaint], top: 1 }),
    );
    expect(decided([bad("one"), bad("two", 10)], { plan })).toEqual(
      sent(3, 35, { messages: ["hello", said("one"), complaint, said("two"), complaint], top: 1 }),
    );
  });

  test("is not said again where it was empty", () => {
    expect(decided([bad("")], { plan })).toEqual(sent(2, 45, { messages: ["hello", complaint], top: 1 }));
  });

  test("goes where the input has no messages of its own", () => {
    const input = { prompt: "p" };
    expect(decided([bad("one")], { plan: { ...plan, input } })).toEqual(
      sent(2, 45, { ...input, messages: [said("one"), complaint] }),
    );
  });

  test("ends the step after its repairs, or begins anew as often as its policy says", () => {
    const three = [bad("one"), bad("two"), bad("three")];
    expect(decided(three, { plan }).events).toEqual(failed("BAD_ANSWER: no"));
    const twice = { plan: { ...plan, policy: { ...plan.policy, attempts: 2 } } };
    expect(decided(three, twice)).toEqual(sent(4, 50, plan.input));
    expect(decided([...three, bad("four")], twice).commands).toMatchObject([{ maxCostMicros: 45 }]);
    expect(decided([...three, ...three], twice).events).toEqual(failed("BAD_ANSWER: no"));
  });

  test("ends the step where nothing is left of its maximum", () => {
    expect(decided([bad("one", 49)], { plan }).commands).toMatchObject([{ maxCostMicros: 1 }]);
    const reason = "BAD_ANSWER: no (the step has reached its maxCost)";
    expect(decided([bad("one", 50)], { plan }).events).toEqual(failed(reason));
    const unlimited = { ...plan, policy: { ...plan.policy, maxCostMicros: null } };
    expect(decided([bad("one", 50)], { plan: unlimited, more: { maxUnquotedMicros: 90 } }).events).toEqual(
      failed(reason),
    );
  });
});
