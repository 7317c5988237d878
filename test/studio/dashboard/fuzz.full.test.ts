import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, malformed, raw } from "../../support/malformed-requests.ts";
import { startServed } from "../../support/served-process.ts";
import { words } from "../../support/word-list.ts";

const REQUESTS = Number(process.env["FUZZ_DASHBOARD_REQUESTS"] ?? 10_000);
const MEGABYTE = 1024 * 1024;
const MOST_CPU_MS = 15;

const known = fc.constantFrom(
  ...words(`
  / /api/runs /api/runs?limit=x /api/runs/night /api/runs/night/events?before=%00 /api/runs/night/step?path=%2e%2e
  /api/runs/night/stop /api/runs/night/approve /api/runs/%2e%2e%2f/resume /api/plan /media/night/one/0
  /media/../../etc/passwd/0 /assets/..%2f..%2fpackage.json /?token=x
`),
);

test(`${REQUESTS} malformed requests to the dashboard get no 5xx and cost little memory and time`, {
  timeout: 600_000,
}, async () => {
  await using served = await startServed(join(import.meta.dirname, "support", "fuzz-process.ts"));
  const origin = served.ready["origin"]!;
  const { host, port } = new URL(origin);
  const cookie = (await fetch(served.ready["url"]!)).headers.get("set-cookie")!.split(";")[0]!;
  const answered = { all: 0, let_in: 0 };
  const rounds = (count: number, seed: number) =>
    fc.assert(
      fc.asyncProperty(fc.array(malformed(known, "/api"), { minLength: 50, maxLength: 50 }), async (samples) => {
        const replies = await Promise.all(
          samples.map((sample) => {
            const isKnown = sample.authorization === "valid";
            const own = isKnown ? [`Cookie: ${cookie}`, `Origin: ${origin}`] : [`Cookie: ${sample.authorization}`];
            return raw(Number(port), bytesOf(sample, [`Host: ${host}`, ...own]));
          }),
        );
        for (const [index, reply] of replies.entries()) {
          if (reply.status > 0) answered.all += 1;
          if (reply.status > 0 && ![401, 403].includes(reply.status)) answered.let_in += 1;
          expect([samples[index], reply.status < 500]).toEqual([samples[index], true]);
        }
      }),
      { endOnFailure: true, numRuns: Math.ceil(count / 50), seed },
    );
  await rounds(REQUESTS / 5, 1);
  const before = await served.health("reset");
  await rounds((REQUESTS * 4) / 5, 2);
  const after = await served.health();
  expect(after.defects).toEqual([]);
  expect(answered.all).toBeGreaterThan(REQUESTS * 0.9);
  expect(answered.let_in).toBeGreaterThan(REQUESTS * 0.1);
  expect((after.rssBytes - before.rssBytes) / MEGABYTE).toBeLessThan(100);
  expect((after.cpuMs - before.cpuMs) / ((REQUESTS * 4) / 5)).toBeLessThan(MOST_CPU_MS);
  // Processes that wait for a processor stand still too: the loop's delay only says something when there is one.
  const isCrowded = (loadavg()[0] ?? 0) > availableParallelism();
  expect([after.delayP99Ms, isCrowded || after.delayP99Ms < 50]).toEqual([after.delayP99Ms, true]);
});
