import { expect, test } from "vitest";
import { PRICE_MICROS } from "../../support/answering-service.ts";
import { openAnswering } from "../../support/answering-show.ts";
import { pictures } from "../../support/pipelines.ts";

test("30 submits unanswered, one resume with a mistyped secret: the right key goes on, and nothing is unresolved [G4]", async () => {
  const { service, run, resume } = await openAnswering();
  service.losesAcks = true;
  expect((await run(pictures, { count: 30 }, { concurrency: 30, giveUpAfterMs: 0 })).pause?.reason).toBe("unreachable");
  expect(service.jobs.size).toBe(30);

  service.losesAcks = false;
  service.fault = { kind: "submit", answer: "401", afterWork: false };
  const mistyped = await resume();
  expect(mistyped.pause?.reason).toBe("credentials");
  expect(mistyped.report.steps.filter(({ status }) => status === "unresolved")).toEqual([]);
  expect(Number(mistyped.report.held) * 1e6).toBe(30 * PRICE_MICROS);

  service.fault = null;
  const done = await resume();
  expect([done.status, done.cost.micros, service.jobs.size]).toEqual(["succeeded", 30 * PRICE_MICROS, 30]);
});

test("a 5xx with envelope after the work was done releases no hold: nothing passes the cap [G3]", async () => {
  const { service, show, journal, outDir, run, resume } = await openAnswering({ spendingCap: "0.1" });
  service.fault = { kind: "submit", answer: "503", afterWork: true };
  await run(pictures, { count: 2 }, { giveUpAfterMs: 60_000 });
  // The room that the unanswered job takes up is nobody else's, in this run or another.
  const other = await (await show.run(pictures, { count: 1 }, { id: "y", outDir: `${outDir}-y` })).result();
  expect(other.pause?.reason).toBe("budget");
  expect([service.jobs.size, (await journal.ledger("x")).heldMicros]).toEqual([1, PRICE_MICROS]);

  service.fault = null;
  const collected = await resume();
  expect([collected.pause?.reason, collected.cost.micros, service.jobs.size]).toEqual(["budget", PRICE_MICROS, 1]);
});

test("a 409 on a first send although the job was created: the key is sent again, and one job is paid [G3]", async () => {
  const { service, run } = await openAnswering();
  service.fault = { kind: "submit", answer: "409", afterWork: true, times: 1 };
  const done = await run(pictures, { count: 1 });
  expect([done.status, done.cost.micros, service.jobs.size]).toEqual(["succeeded", PRICE_MICROS, 1]);
});

test.each(["3xx", "no envelope 4xx"] as const)(
  "a portal's redirect or 404 fails no step: the run pauses as misdirected, and goes on (%s) [G3]",
  async (answer) => {
    const { service, run, resume } = await openAnswering();
    service.fault = { kind: "submit", answer, afterWork: false };
    const paused = await run(pictures, { count: 3 });
    expect(paused.pause?.reason).toBe("misdirected");
    expect(paused.pause?.message).toMatch(
      /^https:\/\/service\.test\/v3 answered POST \/models\/image-1 with (302|404) \(text\/html/,
    );
    expect(paused.pause?.message).not.toContain("SECRET");
    expect(paused.report.steps.map(({ status }) => status)).toEqual(["running", "running", "running"]);
    service.fault = null;
    const done = await resume();
    expect([done.status, service.jobs.size]).toEqual(["succeeded", 3]);
  },
);

test("an unresolved attempt inside the window is sent again on resume, and an acknowledgement settles it [G4]", async () => {
  const { service, run, resume } = await openAnswering();
  service.losesAcks = true;
  service.fault = { kind: "submit", answer: "422", afterWork: false };
  const paused = await run(pictures, { count: 1 });
  expect([paused.pause?.reason, service.jobs.size]).toEqual(["unresolved", 1]);
  const still = await resume();
  expect(still.pause?.reason).toBe("unresolved");
  service.fault = null;
  service.losesAcks = false;
  const done = await resume();
  expect([done.status, done.cost.micros, service.jobs.size]).toEqual(["succeeded", PRICE_MICROS, 1]);
});
