import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import type { Answer } from "../../src/answers/index.ts";
import { createClient } from "../../src/api/index.ts";
import { delayAfter } from "../../src/engine/service/service-answers.ts";
import { createMemoryJournal, openShowrunner, pipeline } from "../../src/index.ts";
import { AnsweringService, ORIGIN } from "../support/answering-service.ts";
import { skippingClock } from "../support/simulated-clock.ts";

const folder = mkdtempSync(join(tmpdir(), "service-away-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const one = pipeline("one", {
  input: z.object({}),
  build: ({ job }) => ({ a: job("a", "image-1", { prompt: "a" }) }),
});

let worlds = 0;

async function open() {
  const service = new AnsweringService();
  const clock = skippingClock(Date.now(), 1);
  const options = { apiKey: "key_1:secret", dispatcher: service, clock, random: () => 0.5 };
  const client = createClient({ baseUrl: `${ORIGIN}/v3`, ...options });
  const journal = createMemoryJournal({ now: () => clock.now() });
  const mediaDir = join(folder, `${++worlds}`);
  const show = await openShowrunner({ client, journal, clock, follow: "poll", mediaDir });
  const types = async () => (await journal.read("x")).map(({ event }) => event.type as string);
  return { service, show, types, outDir: join(mediaDir, "out") };
}

test("tries wait 5 s, then twice as long each time, up to a minute", () => {
  expect([1, 2, 3, 4, 5, 6].map(delayAfter)).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

test("one event when it goes and one when it is back, however many tries lie between", async () => {
  const { service, show, types, outDir } = await open();
  service.fault = { kind: "submit", answer: "refused", afterWork: false, times: 60 };
  const run = await show.run(one, {}, { id: "x", outDir, giveUpAfterMs: Number.POSITIVE_INFINITY });
  const done = await run.result();
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
  ["network", /no way to service\.test/],
  ["tls", /no TLS connection to service\.test.*\[CERT_HAS_EXPIRED\]/],
  ["proxy", /the proxy made no tunnel/],
  ["connect timeout", /took no connection in time/],
  ["bare 5xx", /answered POST \/models\/image-1 with 502/],
  ["503", /answered 503 UNAVAILABLE/],
];

test.each(causes)(
  "pauses the run after giveUpAfterMs, named as what it is; resume pays once (%s)",
  async (answer, says) => {
    const { service, show, types, outDir } = await open();
    service.fault = { kind: "submit", answer, afterWork: false };
    const paused = await (await show.run(one, {}, { id: "x", outDir })).result();
    expect(paused).toMatchObject({ status: "paused", pause: { reason: "unreachable" } });
    expect(paused.pause?.message).toMatch(says);
    expect(paused.report.next?.command).toBe("showrunner resume x");
    expect((await types()).filter((type) => type === "service.unavailable")).toHaveLength(1);
    service.fault = null;
    const done = await (await show.resume("x")).result();
    expect([done.status, service.jobs.size]).toEqual(["succeeded", 1]);
  },
);
