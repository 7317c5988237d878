import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { callerDocument, callerEvent } from "../../../src/core/view/caller-document.ts";
import { documentSchemas } from "../../../src/core/view/document-schema.ts";
import { runDocument } from "../../../src/core/view/run-document.ts";
import { RunView } from "../../../src/core/view/run-view.ts";
import { attempt, output } from "../run/support/attempts.ts";
import { runningState } from "../run/support/decided.ts";
import { FakeRun } from "../run/support/fake-run.ts";
import { job, ref } from "../run/support/plans.ts";
import { cycling, randomWorld } from "../run/support/random-world.ts";
import { runs } from "../run/support/runs.ts";
import { gate } from "../run/support/steps.ts";

// A full check takes many more runs.
vi.setConfig({ testTimeout: 600_000 });

const SECRET = "of-the-operator";
/** What steers the code, and what callers may read: names of steps and files, types of media, the author's words. */
const OPEN = new Set([
  ...["type", "kind", "status", "phase", "money", "basis", "as", "by", "yields", "onFailure", "failed", "version"],
  ...["step", "path", "runId", "name", "file", "contentType", "title", "pipeline", "needs"],
]);

/** Marks every text that is not open. The reason of a pause is a code. */
function marked<T>(value: T, key = "", isPause = false): T {
  if (typeof value === "string") {
    return (OPEN.has(key) || (isPause && key === "reason") ? value : `${value} ${SECRET}`) as T;
  }
  if (Array.isArray(value)) return value.map((item) => marked(item, key)) as T;
  if (typeof value !== "object" || value === null) return value;
  const isOfPause = key === "pause" || ("type" in value && value.type === "run.paused");
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, marked(item, name, isOfPause)])) as T;
}

const ways = ["customer", "agent"].flatMap((audience) =>
  [false, true].map((isInterrupted) => ({
    audience: audience as "customer" | "agent",
    isInterrupted,
    urlOf: () => "/f",
  })),
);

test("the documents of any run are those of the schema, and a caller's has no text of the operator", () => {
  let secrets = 0;
  fc.assert(
    fc.property(randomWorld, ({ world, order }) => {
      const run = new FakeRun(world);
      run.run(cycling(order));
      for (let length = run.events.length; length > 0; length -= 7) {
        const { state } = RunView.of(run.events.slice(0, length))!;
        const view = new RunView(state);
        for (const isInterrupted of [false, true]) {
          documentSchemas.runDocument.parse(runDocument(view, { isInterrupted }));
        }
        const secret = new RunView(marked(structuredClone(state)));
        if (JSON.stringify(runDocument(secret)).includes(SECRET)) secrets += 1;
        for (const how of ways) {
          const text = JSON.stringify(documentSchemas.callerDocument.parse(callerDocument(secret, how)));
          expect(text).not.toContain(SECRET);
        }
      }
      for (const stored of run.events) {
        const event = documentSchemas.callerEvent.parse(callerEvent(marked(stored)));
        expect(JSON.stringify(event)).not.toContain(SECRET);
      }
    }),
    runs(60),
  );
  expect(secrets).toBeGreaterThan(0);
});

test("a caller gets what was asked, what is stored and what is returned, and none of the rest", () => {
  const made = { status: "succeeded", attempts: [attempt(1, { outputs: [output(0), output(1, { copy: null })] })] };
  const state = runningState(
    [
      [job("a"), made],
      [gate("best", [ref("a")], true, "Which?"), { status: "running", startedAt: 5 }],
    ],
    { status: "paused", createdAt: 0, pause: { reason: "approval", message: SECRET } as never },
    { returns: { best: ref("best"), a: ref("a", "all") } as never },
  );
  const urlOf = ({ step, index, sha256 }: { step: string; index: number; sha256: string }) =>
    `/${step}/${index}/${sha256}`;
  const document = callerDocument(new RunView(state), { audience: "customer", isInterrupted: false, urlOf });
  expect(documentSchemas.callerDocument.parse(document)).toEqual(document);
  const file = { index: 0, file: null, content_type: "image/png", width: 2, height: 3, duration_ms: 4, url: "/a/0/c" };
  expect(document).toEqual({
    ...{ id: "r", seq: 1, pipeline: "by-hand", title: null, status: "paused", pause: { reason: "approval" } },
    ...{ message: "The run is waiting for a decision.", quote: null, cost: "0.00", held: "0.00" },
    ...{ created_at: new Date(0).toISOString(), finished_at: null, step_count: 2 },
    steps: [
      { path: "a", kind: "job", phase: "succeeded", status: "succeeded", reason: null, outputs: [file] },
      { path: "best", kind: "approve", phase: "approval", status: "awaiting-approval", reason: null, outputs: [] },
    ],
    waiting: [{ step: "best", message: "Which?", outputs: [file], values: [], choose: true }],
    outputs: { best: null, a: [file, null] },
  });
});
