import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, type Malformed, malformed, raw } from "../support/malformed-requests.ts";
import { isFull } from "../support/sample.ts";
import { startServed } from "../support/served-process.ts";
import { words } from "../support/word-list.ts";

/* FUZZ_REQUESTS sets the number; the seed is fixed, so that every run sends the same. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? (isFull ? 50_000 : 15_000));
const MODULE = join(import.meta.dirname, "support", "fuzz-process.ts");
const MEGABYTE = 1024 * 1024;
/** Processor time of one request, in milliseconds; unlike the wall clock's, it is the same on a busy machine. */
const MOST_CPU_MS = 10;
/** The same for one of the heaviest requests that are let in at all. */
const MOST_HEAVY_CPU_MS = 1500;

const known = fc.constantFrom(
  ...words(`
  /v3/models/image-1 /v3/models/video-1 /v3/models/image-1/estimate /v3/files /v3/keys /v3/tokens /v3/jobs?limit=x
  /v3/jobs?cursor=%F0 /v3/usage?start=%00 /v3/jobs/job_x/status?logs_after=%% /media/asset_x?expires=1&signature=%
  /uploads/../../credential /_local/clock /_local/faults
`),
);

test(`${REQUESTS} malformed requests get 4xx with the envelope, never 5xx, and cost little memory and time`, {
  timeout: 900_000,
}, async () => {
  await using served = await startServed(MODULE);
  const { apiKey, baseUrl, port } = served.ready;
  const seen = { answered: 0, refused: 0 };
  const ask = (sample: Malformed) => {
    const credential = sample.authorization === "valid" ? `Bearer ${apiKey}` : sample.authorization;
    return raw(Number(port), bytesOf(sample, [`Host: 127.0.0.1:${port}`, `Authorization: ${credential}`]));
  };
  const rounds = (count: number, seed: number) =>
    fc.assert(
      fc.asyncProperty(fc.array(malformed(known, "/v3"), { minLength: 50, maxLength: 50 }), async (samples) => {
        const replies = await Promise.all(samples.map(ask));
        for (const [index, reply] of replies.entries()) {
          if (reply.status === 0) continue;
          seen.answered += 1;
          if (reply.status >= 400) seen.refused += 1;
          expect(reply.status, JSON.stringify(samples[index])).toBeLessThan(500);
          const hasEnvelope = reply.text.includes('"error":{"code":"') && reply.text.includes('"trace_id":"');
          const isHead = samples[index]!.method === "HEAD";
          if (reply.status >= 400)
            expect(hasEnvelope || isHead, JSON.stringify([samples[index], reply.text])).toBe(true);
        }
      }),
      { endOnFailure: true, numRuns: Math.ceil(count / 50), seed },
    );
  const warm = Math.min(5000, REQUESTS / 5);
  await rounds(warm, 1);
  const before = await served.health("reset");
  await rounds(REQUESTS - warm, 2);
  const after = await served.health();
  expect(after.defects).toEqual([]);
  expect(seen.answered).toBeGreaterThan(REQUESTS * 0.9);
  expect(seen.refused).toBeGreaterThan(REQUESTS * 0.7);
  expect((after.rssBytes - before.rssBytes) / MEGABYTE).toBeLessThan(100);
  expect((after.cpuMs - before.cpuMs) / (REQUESTS - warm)).toBeLessThan(MOST_CPU_MS);
  // Processes that wait for a processor stand still too: the loop's delay only says something when there is one.
  const isCrowded = (loadavg()[0] ?? 0) > availableParallelism();
  expect([after.delayP99Ms, isCrowded || after.delayP99Ms < 50]).toEqual([after.delayP99Ms, true]);
  const alive = await fetch(`${baseUrl}/balance`, { headers: { Authorization: `Bearer ${apiKey}` } });
  expect(alive.status).toBe(200);
});

test("the heaviest bodies that fit cost bounded processor time, memory and answers", { timeout: 300_000 }, async () => {
  await using served = await startServed(MODULE);
  const { apiKey, baseUrl } = served.ready;
  const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };
  const filler = "word, ".repeat(2_500_000);
  const fields = (count: number) => Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`).join();
  const bodies: readonly (readonly [string, string])[] = [
    ["1.7 million fields", `{"input":{${fields(1_700_000)}}}`],
    ["a prompt of 15 MB", JSON.stringify({ input: { prompt: filler } })],
    ["a field's name of 15 MB", JSON.stringify({ input: { [filler]: 1 } })],
    ["15 MB of brackets", "[".repeat(15_000_000)],
    ["15 MB of quotes escaped", `{"input":"${'\\"'.repeat(7_500_000)}"}`],
    ["nineteen thousand references", `{"input":{"prompt":"x","images":[${'"x",'.repeat(19_000)}"x"]}}`],
    ["nineteen objects of 999 fields", `{"input":{"images":[${Array(19).fill(`{${fields(999)}}`)}]}}`],
  ];
  const before = await served.health("reset");
  for (const [name, body] of bodies) {
    const { cpuMs } = await served.health();
    const answer = await fetch(`${baseUrl}/models/image-1/estimate`, { method: "POST", headers, body });
    const text = await answer.text();
    const spentMs = (await served.health()).cpuMs - cpuMs;
    expect([name, answer.status, text.length < 100_000]).toEqual([name, 400, true]);
    expect([name, spentMs < MOST_HEAVY_CPU_MS, spentMs]).toEqual([name, true, spentMs]);
  }
  const after = await served.health();
  expect(after.defects).toEqual([]);
  expect((after.rssBytes - before.rssBytes) / MEGABYTE).toBeLessThan(100);
});
