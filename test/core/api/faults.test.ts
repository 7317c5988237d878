import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ApiError,
  type Client,
  ConnectionError,
  createClient,
  UnknownOutcomeError,
} from "../../../src/core/api/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { chaosProxy, type Trouble, troubles } from "../../support/proxy.ts";
import { skippingClock } from "../../support/simulated-clock.ts";
import { seedCount, seeded } from "./support/seeded.ts";

/** Each opens a proxy and two clients. */
const lives = Math.ceil(seedCount / 3);

let service: LocalService;
beforeAll(async () => {
  const rateLimit = { requests: 1e9, windowMs: 60_000 };
  service = await startLocalService({ renderer: "stub", balance: 1_000_000, rateLimit });
});
afterAll(() => service.close());

/** Submits and follows one job; says how the submit ended. */
async function live(client: Client, key: string, random: () => number): Promise<"acked" | "refused" | "unknown"> {
  const request = { model: "image-1", input: { prompt: key }, idempotencyKey: key };
  try {
    const ack = await client.submit(request);
    const strategy = (["stream", "poll", "auto"] as const)[Math.floor(random() * 3)]!;
    await finish(client, ack.jobId, strategy);
    return "acked";
  } catch (error) {
    if (error instanceof UnknownOutcomeError) return "unknown";
    if (error instanceof ApiError || (error instanceof ConnectionError && !error.sent)) return "refused";
    throw error;
  }
}

/** Follows to the end; where following itself gives up, it is taken up again, as an engine would. */
async function finish(client: Client, jobId: string, strategy: "stream" | "poll" | "auto"): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    try {
      for await (const event of client.follow(jobId, { strategy })) {
        if (event.type === "finished") return expect(event.outcome).toBe("completed");
      }
    } catch (error) {
      expect(["CONNECTION_FAILED", "UNKNOWN", "UNAVAILABLE", "RESOURCE_EXHAUSTED"]).toContain(
        (error as { readonly code?: unknown }).code,
      );
    }
  }
  throw new Error(`${jobId} could not be followed to its end`);
}

async function withFault(
  name: string,
  seed: number,
  choose: (random: () => number) => Trouble,
  maxAttempts: number,
): Promise<void> {
  const random = seeded(seed);
  const proxy = await chaosProxy(service.baseUrl, () => choose(random));
  const client = createClient({
    baseUrl: proxy.baseUrl,
    apiKey: service.apiKey,
    clock: skippingClock(),
    random,
    retry: { maxAttempts },
  });
  const direct = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey, clock: skippingClock() });
  try {
    const keys = [1, 2].map((index) => `${name}-${seed}-${index}`);
    const ends = await Promise.all(keys.map((key) => live(client, key, random)));
    for (const [index, key] of keys.entries()) {
      const made = service.stats().jobs_by_key[key] ?? 0;
      expect(made).toBeLessThanOrEqual(1);
      if (ends[index] === "acked") expect(made).toBe(1);
      if (ends[index] === "refused") expect(made).toBe(0);
      if (ends[index] === "unknown") {
        await direct.submit({ model: "image-1", input: { prompt: key }, idempotencyKey: key }, { mayExist: true });
        expect(service.stats().jobs_by_key[key]).toBe(1);
      }
    }
  } finally {
    await client.close();
    await direct.close();
    while (proxy.openSockets > 0) await new Promise((resolve) => setImmediate(resolve));
    await proxy.close();
  }
}

for (const trouble of troubles) {
  test(`with "${trouble}" now and then every submit ends in one job, or in a refusal that made none`, async () => {
    for (let seed = 1; seed <= 5; seed++)
      await withFault(trouble, seed, (random) => (random() < 0.5 ? trouble : "none"), 3);
  });
}

test(`with everything going wrong at once, ${lives} times, every submit ends in one job, a refusal that made none, or unknown and then one job`, {
  timeout: 600_000,
}, async () => {
  const choose = (random: () => number): Trouble =>
    random() < 0.5 ? "none" : troubles[Math.floor(random() * troubles.length)]!;
  for (let seed = 1; seed <= lives; seed++) await withFault("all", seed, choose, 2 + (seed % 4));
});
