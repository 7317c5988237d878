import fc from "fast-check";
import { expect, test } from "vitest";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { ask, type Body, get, post, read } from "./support/service.ts";

/* Any sequence of calls, some of them at once, on a clock held by hand. */

type Step =
  | { readonly do: "submit"; readonly outputs: number; readonly key: string | null; readonly prompt: string }
  | { readonly do: "delete"; readonly pick: number }
  | { readonly do: "fund"; readonly cents: number }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "reuse"; readonly pick: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("submit" as const),
      outputs: fc.integer({ min: 1, max: 4 }),
      key: fc.option(fc.constantFrom("a", "b", "c", "d")),
      prompt: fc.constantFrom("fine", "fine", "fails", "partly"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reuse" as const), pick: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), pick: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fund" as const), cents: fc.integer({ min: 0, max: 20 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("advance" as const),
      ms: fc.constantFrom(100, 300, 900, 3_000, 180_000_000),
    }),
  },
);

/** The full check searches longer. */
const RUNS = process.env["SHOWRUNNER_TEST_RUNS"] === undefined ? 10 : 250;

/** A refund that falls between two readings: found by a witness that compared figures of two instants. */
const REFUND_WHILE_READ: Step[][] = [
  [
    { do: "submit", outputs: 1, key: null, prompt: "fails" },
    { do: "advance", ms: 100 },
  ],
  [{ do: "advance", ms: 3000 }],
];

const RANK: Readonly<Record<string, number>> = { IN_QUEUE: 0, IN_PROGRESS: 1, COMPLETED: 2, FAILED: 2 };

/** What was seen of a service so far, and what must be true of it. */
class Witness {
  readonly accepted: string[] = [];
  readonly byKey = new Map<string, Set<string>>();
  readonly #statuses = new Map<string, string>();
  readonly #service: LocalService;

  constructor(service: LocalService) {
    this.#service = service;
  }

  note(key: string | null, jobId: string): void {
    if (!this.accepted.includes(jobId)) this.accepted.push(jobId);
    if (key !== null) this.byKey.set(key, (this.byKey.get(key) ?? new Set()).add(jobId));
  }

  async perform(step: Step): Promise<void> {
    const service = this.#service;
    const picked = (pick: number) => this.accepted[pick % Math.max(1, this.accepted.length)];
    if (step.do === "fund") return service.fund(step.cents / 100);
    if (step.do === "advance") return service.clock.advance(step.ms);
    if (step.do === "delete") return void (await ask(service, "DELETE", `/jobs/${picked(step.pick)}`));
    if (step.do === "submit") return this.#submit({ prompt: step.prompt, num_outputs: step.outputs }, step.key);
    const source = picked(step.pick);
    const asset = source && (await read(service, `/jobs/${source}`)).outputs?.[0]?.asset_id;
    if (asset) await this.#submit({ prompt: "fine", images: [{ source: "asset", asset_id: asset }] }, null);
  }

  async #submit(input: object, idempotency_key: string | null): Promise<void> {
    const reply = await post(this.#service, "/models/image-1", { input, idempotency_key });
    if (reply.status === 202) this.note(idempotency_key, reply.body.job_id);
    else expect([400, 402]).toContain(reply.status);
  }

  async check(): Promise<void> {
    // Renderings end when they end; what is compared must be read while nothing moved.
    const money = () => JSON.stringify(this.#service.stats().wallets);
    const before = money();
    const jobs = await this.#allJobs();
    const { balance } = await read(this.#service, "/balance");
    if (money() !== before) return this.check();
    expect(jobs.map((job) => job.job_id).toSorted()).toEqual(this.accepted.toSorted());
    for (const ids of this.byKey.values()) expect(ids.size).toBe(1);
    for (const job of jobs) this.#checkStatus(job);
    this.#checkMoney(jobs, balance);
  }

  async #allJobs(): Promise<Body[]> {
    const jobs: Body[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { body }: Body = await get(this.#service, `/jobs?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`);
      jobs.push(...body.data);
      cursor = body.next_cursor;
    }
    const created = jobs.map((job) => Date.parse(job.created_at));
    expect(created).toEqual(created.toSorted((a, b) => b - a));
    return jobs;
  }

  #checkStatus(job: Body): void {
    const before = this.#statuses.get(job.job_id) ?? "IN_QUEUE";
    const rank = RANK[job.status] ?? -1;
    expect([job.status, rank > (RANK[before] ?? 0) || job.status === before]).toEqual([job.status, true]);
    this.#statuses.set(job.job_id, job.status);
    expect(job.completed_at !== undefined).toBe(rank === 2);
  }

  #checkMoney(jobs: readonly Body[], balance: number): void {
    const stats = this.#service.stats();
    const [wallet] = stats.wallets;
    const expected = wallet!.funded_micros - stats.charged_micros + stats.refunded_micros;
    expect(Math.round(balance * 1e6)).toBe(expected);
    expect(expected).toBeGreaterThanOrEqual(0);
    const spent = jobs.reduce((sum, job) => sum + Math.round(job.cost * 1e6), 0);
    expect(spent).toBe(stats.charged_micros - stats.refunded_micros);
    for (const job of jobs) if (job.status === "FAILED") expect(job.cost).toBe(0);
  }
}

test("any sequence of calls keeps the wallet, the keys, the statuses and the lists true [J15 P14 S5 T2 T4 WJ11]", {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 12 }), async (rounds) => {
      const service = await startLocalService({
        renderer: "stub",
        speed: 1,
        balance: 0.5,
        maxRunning: 2,
        rateLimit: { requests: 1e6, windowMs: 60_000 },
      });
      try {
        service.clock.manual();
        service.faults([
          { kind: "fail_job", prompt: "fails" },
          { kind: "fail_output", prompt: "partly", outputs: [1] },
        ]);
        const witness = new Witness(service);
        for (const together of rounds) {
          await Promise.all(together.map((item) => witness.perform(item)));
          await witness.check();
        }
      } finally {
        await service.close();
      }
    }),
    { numRuns: RUNS, examples: [[REFUND_WHILE_READ]] },
  );
});
