import { expect, test } from "vitest";
import { pauseText } from "../../../src/studio/dashboard/page/ui/format.ts";
import type { RunSummary } from "../../../src/studio/dashboard/views/document.ts";

type Pause = NonNullable<RunSummary["pause"]>;

const message = "poster is short (of money). Go on: showrunner resume r";
const rest = { message, fundingUrl: null, requiredMicros: null, balanceMicros: null, flag: null, resumeAt: null };
const textOf = (pause: Partial<Pause>, decisions: RunSummary["decisions"] = { count: 0, first: [] }) =>
  pauseText({ ...rest, reason: "funds", ...pause }, decisions);

test("a pause in the list of runs is told from its fields, without the command in its message; what a person gave as reason stands as it is", () => {
  const short = "Wallet balance too low";
  expect(textOf({})).toBe(short);
  const amounts = { balanceMicros: 1_000_000, requiredMicros: 2_500_000 };
  expect(textOf(amounts)).toBe(`${short}: $1.00 available, $2.50 needed`);
  const over = textOf({ reason: "budget", requiredMicros: 2_500_000 });
  expect(over).toBe("The next step would exceed the budget: $2.50 needed");
  expect(textOf({ reason: "budget" })).toBe("The next step has no price and no maximum cost");
  const asks = [{ step: "clip", costMicros: 500_000 }];
  expect(textOf({ reason: "budget", asks } as Partial<Pause>)).toBe("New prices to accept: clip costs $0.50");
  expect(textOf({ reason: "late", late: ["clip"] })).toBe("A job did not finish in time: clip");
  expect(textOf({ reason: "files", rerun: "clip" })).toMatch(/: clip must run again$/);
  expect(textOf({ reason: "cap", resumeAt: 0 })).toMatch(/^Daily cap reached: can continue from .*1970/);
  const waiting = textOf({ reason: "approval" }, { count: 5, first: ["a", "b", "c"] });
  expect(waiting).toBe("Waiting for a decision: a, b, c and 2 more");
  expect(textOf({ reason: "stopped", message: "too dark" })).toBe("too dark");
});
