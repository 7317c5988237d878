import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import { createClient, createMemoryJournal, openShowrunner, type RunResult } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { type HardPath, hardPath, type PathState } from "../../support/hard-path.ts";
import { pipelineOf } from "../../support/pipelines.ts";
import { skippingClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const MINUTE_MS = 60_000;
const GIVE_UP_MS = 10_000;
/** So many submits pass; the one after has reached the service when the path breaks. */
const BREAKS_AT = 3;

/** Two chains and pictures beside them: something is always under way, waiting and paid for. */
const busy = pipelineOf("busy", ({ job }) => {
  const drawn = ["a", "b", "c", "d"].map((name) => job(name, models.image, { prompt: name }));
  const film = { prompt: "it walks", aspect_ratio: "1:1", duration_ms: 3000 } as const;
  return { drawn, films: [0, 1].map((n) => job(`film-${n}`, models.video, { ...film, start_image: drawn[n]! })) };
});
const STEPS = 6;

let service: LocalService;
let path: HardPath;
const folder = newFolder();
beforeAll(async () => {
  const rateLimit = { requests: 1_000_000, windowMs: MINUTE_MS };
  service = await startLocalService({ renderer: "stub", balance: 1000, rateLimit, dataDir: join(folder, "service") });
  path = await hardPath(service.baseUrl);
});
afterAll(async () => {
  await path.close();
  await service.close();
});

/** A run on a machine of its own, whose clock may be off. */
async function machine(id: string, { clockOffMs = 0, timeoutMs = 30_000 } = {}) {
  const clock = skippingClock(Date.now() + clockOffMs, 1);
  const journal = createMemoryJournal();
  const dispatcher = path.dispatcher();
  const retry = { maxAttempts: 2 };
  const { apiKey } = service;
  const client = createClient({ baseUrl: path.baseUrl, apiKey, dispatcher, clock, timeoutMs, retry });
  const show = await openShowrunner({ client, journal, mediaDir: join(folder, id), clock, follow: "poll" });
  const before = service.stats();
  const options = { id, outDir: join(folder, `${id}-out`), giveUpAfterMs: GIVE_UP_MS, concurrency: 3 };
  return {
    run: async () => (await show.run(busy, {}, options)).result(),
    resume: async () => (await show.resume(id, { giveUpAfterMs: GIVE_UP_MS })).result(),
    ledger: () => journal.ledger(id),
    made: () => service.stats().jobs_created - before.jobs_created,
    chargedMicros: () => service.stats().charged_micros - before.charged_micros,
    close: async () => {
      await show.close();
      await client.close();
      await dispatcher.destroy();
    },
  };
}

beforeEach(() => {
  path.state = { is: "clear" };
});

type Machine = Awaited<ReturnType<typeof machine>>;

async function expectPaidOnce(one: Machine, result: Pick<RunResult, "status" | "report">): Promise<void> {
  const unfinished = result.report.steps.filter(({ status }) => status !== "succeeded");
  const { heldMicros, settledMicros } = await one.ledger();
  const found = { status: result.status, unfinished, jobs: one.made(), heldMicros, settledMicros };
  const chargedMicros = one.chargedMicros();
  expect(found).toEqual({
    status: "succeeded",
    unfinished: [],
    jobs: STEPS,
    heldMicros: 0,
    settledMicros: chargedMicros,
  });
}

const troubles: readonly (readonly [name: string, trouble: PathState, reason: string, said: RegExp])[] = [
  ["a captive portal redirects", { is: "answered", status: 302, html: true }, "misdirected", /with 302 .*portal\.test/],
  ["a captive portal shows its page", { is: "answered", status: 200, html: true }, "misdirected", /studio\.test/],
  ["a network asks for a login", { is: "answered", status: 511, html: true }, "misdirected", /with 511/],
  ["a load balancer has no backend (502)", { is: "answered", status: 502, html: true }, "unreachable", /502/],
  ["a load balancer is overloaded (503)", { is: "answered", status: 503, html: false }, "unreachable", /503/],
  ["a load balancer knows no such route (404)", { is: "answered", status: 404, html: true }, "misdirected", /with 404/],
  ["a load balancer forbids it (403)", { is: "answered", status: 403, html: false }, "misdirected", /with 403/],
  ["the name is not found", { is: "unknown name" }, "unreachable", /studio\.test:\d+ was not found \(DNS\)/],
  ["the name leads to another host", { is: "other host" }, "misdirected", /with 404 \(application\/json/],
  ["the certificate is another host's", { is: "wrong certificate" }, "unreachable", /TLS.*studio\.test/],
  ["the certificate is expired", { is: "expired certificate" }, "unreachable", /TLS.*studio\.test.*CERT_HAS_EXPIRED/],
  ["the handshake breaks off", { is: "no handshake" }, "unreachable", /studio\.test/],
  [
    "nobody answers on an open connection",
    { is: "silence" },
    "unreachable",
    /not receive a complete response within 1000 ms/,
  ],
  ["every answer breaks off in its body", { is: "half an answer" }, "unreachable", /before the response was complete/],
];

describe("When, in the middle of a run, the network goes wrong for good", () => {
  test.each(troubles)(
    "%s: the run says so and pauses, and once it is over pays each step once [G2]",
    async (name, trouble, reason, said) => {
      // Silence is waited out in real time.
      const isSilent = trouble.is === "silence";
      const one = await machine(name.replaceAll(/[^a-z0-9]+/g, "-"), isSilent ? { timeoutMs: 1000 } : {});
      path.breaksAt(BREAKS_AT, trouble);
      const paused = await one.run();
      expect(paused.pause).toMatchObject({ reason, message: expect.stringMatching(said) });
      expect(paused.report.steps.filter(({ status }) => status === "failed" || status === "unresolved")).toEqual([]);
      // What the service charged is reserved or counted, whether or not the run heard of it.
      const { heldMicros, settledMicros } = await one.ledger();
      expect(heldMicros + settledMicros).toBeGreaterThanOrEqual(one.chargedMicros());
      expect(one.made()).toBe(BREAKS_AT);
      path.state = { is: "clear" };
      await expectPaidOnce(one, await one.resume());
      await one.close();
    },
  );
});

describe("When the network goes wrong for a while", () => {
  test("a run survives one failure after the other and pays each step once", async () => {
    const one = await machine("patient");
    const waiting = troubles.map(([, trouble]) => trouble).filter(({ is }) => is !== "silence");
    const strike = () => {
      const next = waiting.shift();
      const heal = () => {
        path.state = { is: "clear" };
        strike();
      };
      if (next !== undefined) path.breaksAt(1, next, () => setTimeout(heal, 10));
    };
    strike();
    let result: Pick<RunResult, "status" | "report"> = await one.run();
    while (result.status === "paused") result = await one.resume();
    expect(waiting.length).toBeLessThan(troubles.length - STEPS);
    await expectPaidOnce(one, result);
    await one.close();
  });

  test.each([
    ["the service's clock is 25 minutes ahead", 25 * MINUTE_MS, 0],
    ["the service's clock is 25 minutes behind", -25 * MINUTE_MS, 0],
    ["this machine's clock is 25 minutes ahead", 0, 25 * MINUTE_MS],
    ["this machine's clock is 25 minutes behind", 0, -25 * MINUTE_MS],
  ])("%s: a broken connection is made good, and each step is paid once", async (name, skewMs, clockOffMs) => {
    path.state = { is: "clear", skewMs };
    const one = await machine(name.replaceAll(/[^a-z0-9]+/gi, "-"), { clockOffMs });
    path.breaksAt(BREAKS_AT, { is: "half an answer" });
    const paused = await one.run();
    expect(paused.pause?.reason).toBe("unreachable");
    path.state = { is: "clear", skewMs };
    await expectPaidOnce(one, await one.resume());
    await one.close();
  });
});
