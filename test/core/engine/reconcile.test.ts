import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Client, ConnectionError, createClient } from "../../../src/core/api/index.ts";
import { listNearbyJobs, type ReconcileProgress } from "../../../src/core/engine/adoption/reconcile.ts";
import {
  createMemoryJournal,
  type JournalStore,
  openShowrunner,
  pipeline,
  type RunResult,
  type Showrunner,
} from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { models, pipelineOf } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const picture = pipeline("picture", {
  input: z.object({ of: z.string() }),
  build: ({ input, job }) => ({ picture: job("picture", models.image, { prompt: input.of }) }),
});
const nothing = {
  ...{ orphans: [], unclaimed: [], missingRefunds: [], overcharges: [], otherCosts: [], ledgers: [], unseen: [] },
  abandonedChats: [],
};

describe("reconcile", () => {
  let service: LocalService;
  let client: Client;
  const folder = newFolder();
  const opened: Showrunner[] = [];

  beforeAll(async () => {
    const faults = [{ kind: "fail_job" as const, prompt: "cursed", code: "INTERNAL" as const, retryable: false }];
    service = await startLocalService({ renderer: "stub", balance: 100, dataDir: join(folder, "service"), faults });
    client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  });

  afterAll(async () => {
    for (const show of opened) await show.close();
    await client.close();
    await service.close();
  });

  async function open(journal: JournalStore, through: Client = client): Promise<Showrunner> {
    const mediaDir = join(folder, `media-${opened.length}`);
    const show = await openShowrunner({ client: through, journal, mediaDir });
    opened.push(show);
    return show;
  }

  async function finish(show: Showrunner, id: string, of = "a lamp"): Promise<RunResult> {
    return (await show.run(picture, { of }, { id, outDir: join(folder, "out", id) })).result();
  }

  const jobOf = (result: RunResult) => result.report.steps[0]!.attempts[0]!.job_id!;

  test("says nothing when journal, ledger and service agree, also about a failed job that was refunded", async () => {
    const show = await open(createMemoryJournal());
    expect((await finish(show, "good")).status).toBe("succeeded");
    expect((await finish(show, "bad", "cursed")).status).toBe("failed");
    const report = await show.reconcile();
    expect({ ...report, orphans: [] }).toEqual({ runs: ["bad", "good"], ...nothing });
  });

  test("lists a job that no run knows, and changes nothing [G30]", async () => {
    const journal = createMemoryJournal();
    const show = await open(journal);
    const mine = await finish(show, "x");
    const stray = await client.submit({ model: models.image.id, input: { prompt: "a stray" } });
    const before = { stats: service.stats().jobs_created, seq: (await journal.run("x"))?.lastSeq };
    const { orphans } = await show.reconcile("x");
    expect(orphans.find(({ jobId }) => jobId === stray.jobId)).toMatchObject({ nearbyRuns: ["x"], model: "image-1" });
    expect(orphans.map(({ jobId }) => jobId)).not.toContain(jobOf(mine));
    expect({ stats: service.stats().jobs_created, seq: (await journal.run("x"))?.lastSeq }).toEqual(before);
  });

  test("lists jobs of the run's own time before those of the ten minutes around it, and no others", async () => {
    const minute = 60_000;
    const at = { before: -9, during: 5, after: 19, early: -11, late: 21 };
    const jobs = Object.entries(at).map(([jobId, minutes]) => ({
      jobId,
      createdAt: new Date(minutes * minute).toISOString(),
    }));
    const newestFirst = jobs.toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt));
    async function* modelJobs() {
      yield* newestFirst;
    }
    const planned = { plan: { steps: [{ path: "picture", model: "image-1" }] } };
    const { orphans } = await listNearbyJobs(
      { client: { modelJobs }, known: new Set(), now: () => 0 } as never,
      [{ runId: "x", planned, createdAt: 0, finishedAt: 10 * minute }] as never,
    );
    expect(orphans.map(({ jobId }) => jobId)).toEqual(["during", "after", "before"]);
  });

  test("lists outputs that were paid for and never fetched, until they are", async () => {
    const journal = createMemoryJournal();
    const broken = await open(journal, {
      ...client,
      download: () => Promise.reject(Object.assign(new Error("no room"), { code: "ENOSPC" })),
    });
    await finish(broken, "x").catch(() => {});
    const show = await open(journal);
    const { unclaimed } = await show.reconcile("x");
    expect(unclaimed).toEqual([
      { runId: "x", step: "picture", jobId: expect.any(String), index: 0, assetId: expect.any(String) },
    ]);
    expect((await (await show.resume("x")).result()).status).toBe("succeeded");
    expect((await show.reconcile("x")).unclaimed).toEqual([]);
  });

  test("lists failed jobs that still cost something, other costs, and jobs that the service does not show", async () => {
    const journal = createMemoryJournal();
    const show = await open(journal);
    const failed = jobOf(await finish(show, "bad", "cursed"));
    const dearer = jobOf(await finish(show, "dear"));
    const hidden = jobOf(await finish(show, "hidden"));
    const odd = await open(journal, {
      ...client,
      modelJobs: (id) => {
        const listing = client.modelJobs(id);
        return {
          ...listing,
          async *[Symbol.asyncIterator]() {
            for await (const job of listing) {
              if (job.jobId === hidden) continue;
              yield job.jobId === failed || job.jobId === dearer ? { ...job, costMicros: 30_000 } : job;
            }
          },
        };
      },
      job: (id) => client.job(id === hidden ? "job_none" : id),
    });
    expect(await odd.reconcile()).toMatchObject({
      missingRefunds: [{ runId: "bad", step: "picture", jobId: failed, costMicros: 30_000 }],
      otherCosts: [{ runId: "dear", step: "picture", jobId: dearer, journalMicros: 20_000, serviceMicros: 30_000 }],
      unseen: [{ runId: "hidden", step: "picture", jobId: hidden }],
    });
  });

  test("lists a run whose ledger adds up to another sum than its events", async () => {
    const journal = createMemoryJournal();
    const show = await open(journal);
    await finish(show, "x");
    const ledger = journal.ledger.bind(journal);
    journal.ledger = async (runId) => ({ ...(await ledger(runId)), settledMicros: 1 });
    expect((await show.reconcile("x")).ledgers).toEqual([{ runId: "x", eventsMicros: 20_000, ledgerMicros: 1 }]);
  });

  test("counts the jobs of chats as known, and lists chats that were never answered beside what they cost [G30]", async () => {
    const told = pipelineOf("told", ({ chat }) => ({
      words: chat("words", "chat-1", { prompt: "say something" }, { maxCost: "0.05" }),
    }));
    const journal = createMemoryJournal();
    const calm = await open(journal);
    expect((await (await calm.run(told, {}, { id: "calm" })).result()).status).toBe("succeeded");
    expect(await calm.reconcile("calm")).toEqual({ runs: ["calm"], ...nothing });

    let answered = 0;
    const chat: Client["chat"] = async (request, options) => {
      const answer = await client.chat(request, options);
      if (++answered === 1) throw new ConnectionError("the answer was lost", { sent: true });
      return answer;
    };
    const show = await open(journal, { ...client, chat });
    expect((await (await show.run(told, {}, { id: "lossy" })).result()).status).toBe("succeeded");
    const heard: ReconcileProgress[] = [];
    const report = await show.reconcile("lossy", { onProgress: (progress) => heard.push(progress) });
    expect(report).toMatchObject({ ...nothing, orphans: [{ model: "chat-1" }], abandonedChats: [{ step: "words" }] });
    expect(report.abandonedChats[0]).toMatchObject({ runId: "lossy", model: "chat-1", unconfirmedMicros: 50_000 });
    expect(heard).toEqual([
      { reading: "job lists", done: 0, total: 1 },
      { reading: "jobs", done: 0, total: 1 },
    ]);
  });

  test("compares only runs of the account that it asks, and refuses another's [G37]", async () => {
    const journal = createMemoryJournal();
    const show = await open(journal);
    await finish(show, "x");
    const other = await open(journal, { ...client, keyId: "somebody-else" });
    expect(await other.reconcile()).toEqual({ runs: [], ...nothing });
    await expect(other.reconcile("x")).rejects.toMatchObject({ code: "ACCOUNT_MISMATCH" });
  });
});
