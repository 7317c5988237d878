import { expect, test } from "vitest";
import type { Answer } from "../../../src/core/answers.ts";
import { outageDelayMs } from "../../../src/core/engine/service/service-answers.ts";
import { openAnswering } from "../../support/answering-show.ts";
import { pipelineOf } from "../../support/pipelines.ts";

const one = pipelineOf("one", ({ job }) => ({ a: job("a", "image-1", { prompt: "a" }) }));

async function open() {
  const world = await openAnswering();
  const types = async () => (await world.journal.read("x")).map(({ event }) => event.type as string);
  return { ...world, types };
}

test("tries wait 5 s, then twice as long each time, up to a minute", () => {
  expect([1, 2, 3, 4, 5, 6].map(outageDelayMs)).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

test("one event when it goes and one when it is back, however many tries lie between [G40]", async () => {
  const { service, types, run } = await open();
  service.fault = { kind: "submit", answer: "refused", afterWork: false, times: 60 };
  const done = await run(one, {}, { giveUpAfterMs: Number.POSITIVE_INFINITY });
  expect([done.status, service.jobs.size]).toEqual(["succeeded", 1]);
  expect(service.counts.submit).toBe(61);
  const told = await types();
  expect(told.filter((type) => type.startsWith("service."))).toEqual(["service.unavailable", "service.recovered"]);
  const sends = told.filter((type) => type.startsWith("job.submit"));
  // Now and then a note of when a send may have left: who looks for its job after a death looks so far.
  const notes = sends.filter((type) => type === "job.submit.resent");
  expect(notes.length).toBeLessThan(60 / 5);
  expect(sends.filter((type) => type !== "job.submit.resent")).toEqual(["job.submit.intended", "job.submitted"]);
});

const causes: readonly (readonly [Answer, RegExp])[] = [
  ["dns", /the name service\.test was not found \(DNS\) \[ENOTFOUND\]/],
  ["refused", /nothing listens at service\.test \(connection refused\) \[ECONNREFUSED\]/],
  ["network", /service\.test cannot be reached from this network/],
  ["tls", /the TLS connection to service\.test failed: .*\[CERT_HAS_EXPIRED\]/],
  ["proxy", /the proxy refused to open a tunnel/],
  ["connect timeout", /did not accept a connection in time/],
  ["no envelope 5xx", /answered POST \/models\/image-1 with 502/],
  ["503", /answered 503 UNAVAILABLE/],
];

test.each(causes)(
  "pauses the run after giveUpAfterMs, named as what it is; resume pays once (%s) [G40]",
  async (answer, says) => {
    const { service, types, run, resume } = await open();
    service.fault = { kind: "submit", answer, afterWork: false };
    const paused = await run(one);
    expect(paused).toMatchObject({ status: "paused", pause: { reason: "unreachable" } });
    expect(paused.pause?.message).toMatch(says);
    expect(paused.report.next?.command).toBe("showrunner resume x");
    expect((await types()).filter((type) => type === "service.unavailable")).toHaveLength(1);
    service.fault = null;
    const done = await resume();
    expect([done.status, service.jobs.size]).toEqual(["succeeded", 1]);
  },
);

const years = [{ "retry-after": "315360000" }, { "retry-after": "Fri, 31 Dec 2049 23:59:59 GMT" }] as const;
const endless = [
  ...years,
  { "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "2524607999" },
];

const waits = (["submit", "follow"] as const).flatMap((kind) =>
  (["429", "503"] as const).flatMap((answer) => endless.map((headers) => [kind, answer, headers] as const)),
);

test.each(waits)(
  "A wait of years (%s, %s, %j) is not waited for: the run pauses, and says so",
  async (kind, answer, headers) => {
    const { service, types, clock, run } = await open();
    service.fault = { kind, answer, afterWork: false, headers };
    const from = clock.now();
    const paused = await run(one, {}, { giveUpAfterMs: 120_000 });
    expect(paused).toMatchObject({ status: "paused", pause: { reason: "unreachable" } });
    if (answer === "429" && "retry-after" in headers)
      expect(paused.pause?.message).toMatch(/the service asks clients to wait \d+ s/);
    expect(await types()).toContain("service.unavailable");
    expect(clock.now() - from).toBeLessThan(40 * 60_000);
  },
);

test("A submit that waits for its turn is given up by its wait signal, and never sent", async () => {
  const { service, client } = await open();
  service.fault = { kind: "submit", answer: "429", afterWork: false, headers: years[0] };
  const request = { model: "image-1", input: { prompt: "a" }, idempotencyKey: "k" };
  await expect(client.submit(request)).rejects.toMatchObject({ status: 429 });
  const stop = new AbortController();
  const second = client.submit(request, { waitSignal: stop.signal });
  stop.abort(new Error("stopped"));
  await expect(second).rejects.toThrow("stopped");
  expect(service.counts.submit).toBe(1);
});
