import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JournalStore, LeaseHolder } from "../../src/core/journal/store.ts";
import { greyPng } from "../../src/core/kit/placeholder-media.ts";
import type { RunDocument } from "../../src/index.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { chaosProxy, type HttpProxy, type Trouble } from "../support/proxy.ts";
import { isFull } from "../support/sample.ts";
import { cli, emptyFolder, root, startCli } from "./support/cli.ts";
import { viewJournal } from "./support/journal.ts";
import { Nursery } from "./support/lives.ts";

/** More than 300 kills in a full check. */
const lives = isFull ? 45 : 3;
const killsALife = 7;
const longMs = 600_000;

/** What two runs of the same pipeline must agree on, whatever happened in between. */
function essence(report: RunDocument) {
  return report.steps.map(({ path, status, outputs }) => ({
    path,
    status,
    outputs: outputs.map(({ index, content_type, width, height, duration_ms, file }) => ({
      ...{ index, content_type, width, height, duration_ms },
      name: file?.split("/").at(-1) ?? null,
    })),
  }));
}

function expectRealFiles(report: RunDocument): void {
  for (const { file, sha256 } of report.steps.flatMap(({ outputs }) => outputs)) {
    if (file === null) continue;
    const bytes = readFileSync(join(report.out_dir, file));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
  }
}

/** A lease whose holder was killed, and where in the journal that was. */
interface Lease {
  readonly lastSeq: number;
  readonly expiresAt: number;
}

/** Looks at the lease without being anybody who could hold it; null where there is none. */
async function leaseLeft(store: JournalStore, id: string): Promise<Lease | null> {
  if ((await store.run(id)) === null) return null;
  const lease = await store.takeLease(id, watcher, { at: Date.now(), ttlMs: 1, isDead: () => false });
  const { lastSeq } = (await store.run(id))!;
  return lease.acquired ? null : { lastSeq, expiresAt: lease.expiresAt };
}

/** When the next process took the run over; long ago where there was nothing left to do. */
async function takenAfter(store: JournalStore, id: string, { lastSeq }: Lease): Promise<number> {
  const [last, ...after] = await store.read(id, { afterSeq: lastSeq - 1 });
  if (last?.event.type === "run.finished") return 0;
  return after.find(({ event }) => event.type === "lease.acquired")?.at ?? Number.POSITIVE_INFINITY;
}

const watcher: LeaseHolder = {
  host: "test",
  bootId: "test",
  pid: 0,
  processStart: "0",
  instance: "watcher",
  program: "1.0.0",
};

/** When a process is killed: at an event of its journal, or at a request before or after the service had it. */
type Moment =
  | { readonly at: "event"; readonly seq: number }
  | { readonly at: "request"; readonly count: number; readonly side: "before" | "after" };

describe("a run with every kind of step, killed repeatedly", () => {
  let service: LocalService;
  let proxy: HttpProxy;
  let nursery: Nursery;
  let folder: string;
  let whole: Awaited<ReturnType<typeof live>>;
  /** Requests of the run under way, and what to do at one of them. */
  let requests = 0;
  let fatal: { readonly count: number; readonly kill: () => Trouble } | null = null;
  let kills = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kill-"));
    const rateLimit = { requests: 1e6, windowMs: 60_000 };
    service = await startLocalService({ renderer: "stub", balance: 1000, rateLimit });
    proxy = await chaosProxy(service.baseUrl, () => {
      requests += 1;
      return fatal !== null && requests >= fatal.count ? fatal.kill() : "none";
    });
    nursery = new Nursery();
    whole = await live("whole", []);
    expect(whole).toMatchObject({ kills: 0, chats: 1, jobs: 8 });
  }, longMs);

  afterAll(async () => {
    nursery.close();
    await proxy.close();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const spent = () => {
    const { jobs_created, jobs_by_model, charged_micros } = service.stats();
    const chats = jobs_by_model["chat-1"] ?? 0;
    return { chats, jobs: jobs_created - chats, chargedMicros: charged_micros };
  };

  /** One run, in as many processes as there are moments, and the last one that nobody kills. */
  async function live(id: string, moments: readonly Moment[]) {
    const home = join(folder, id);
    mkdirSync(home);
    writeFileSync(join(home, "sample.png"), greyPng(512));
    const before = spent();
    requests = 0;
    let killed = 0;
    const leases: Lease[] = [];
    const left = [...moments];
    for (;;) {
      const { child, ended } = await nursery.live({ baseUrl: proxy.baseUrl, apiKey: service.apiKey, folder: home, id });
      await using journal = await viewJournal(join(home, "journal.db"), ended);
      const moment = left.shift();
      const kill = () => {
        killed += child.kill("SIGKILL") ? 1 : 0;
      };
      if (moment?.at === "request") {
        fatal = {
          count: moment.count,
          kill: () => {
            fatal = null;
            kill();
            return `cut ${moment.side}`;
          },
        };
      } else if (moment?.at === "event") {
        const last = ended.then((outcome) => ({ code: 0, stdout: "", stderr: JSON.stringify(outcome?.message) }));
        await journal.reached(id, moment.seq, last).then(kill, () => {});
      }
      const outcome = await ended;
      fatal = null;
      if (outcome === null) {
        const lease = await leaseLeft(journal.store, id);
        if (lease !== null) leases.push(lease);
        continue;
      }
      // Two kills during the chat: whether to ask, and perhaps pay, once more is a person's decision. Resuming is that.
      if (outcome.status === "paused" && outcome.message?.includes("To send the request once more, resume")) continue;
      const after = spent();
      const { lastSeq = 0 } = (await journal.store.run(id)) ?? {};
      for (const lease of leases) expect(await takenAfter(journal.store, id, lease)).toBeLessThan(lease.expiresAt);
      return {
        ...{ ...outcome, kills: killed, events: lastSeq, requests },
        chats: after.chats - before.chats,
        jobs: after.jobs - before.jobs,
        chargedMicros: after.chargedMicros - before.chargedMicros,
        ledger: await journal.store.ledger(id),
      };
    }
  }

  /** Spread over the run, each life's a little later than the last one's; events and requests take turns. */
  function momentsOf(life: number): readonly Moment[] {
    return Array.from({ length: killsALife }, (_, kill): Moment => {
      const share = (0.85 * (kill + life / lives)) / killsALife;
      if ((kill + life) % 2 === 0) return { at: "event", seq: 1 + Math.floor(share * whole.events) + 2 * kill };
      const side = life % 4 < 2 ? "before" : "after";
      return { at: "request", count: 1 + Math.floor(share * whole.requests), side };
    });
  }

  test.each(Array.from({ length: lives }, (_, life) => life))(
    `life %i of ${lives}: same results, each job paid once, at most one chat more a kill`,
    async (life) => {
      const run = await live(`life-${life}`, momentsOf(life));
      kills += run.kills;
      expect(run.status, run.message ?? "").toBe("succeeded");
      expect(essence(run.report)).toEqual(essence(whole.report));
      expectRealFiles(run.report);
      expect(run.jobs).toBe(whole.jobs);
      expect(run.chats).toBeGreaterThanOrEqual(1);
      expect(run.chats).toBeLessThanOrEqual(1 + run.kills);
      const chatMicros = Number(chatCost(whole.report)) * 1_000_000;
      expect(run.chargedMicros - run.chats * chatMicros).toBe(whole.chargedMicros - chatMicros);
      expect(run.ledger.heldMicros).toBe(0);
      // What a killed chat may have cost is counted as spent: the ledger never says less than the wallet.
      expect(run.ledger.settledMicros).toBeGreaterThanOrEqual(run.chargedMicros);
    },
    longMs,
  );

  const least = lives * (killsALife - 1);
  test(`was killed at ${least} moments at least [G2]`, () => {
    console.log(`kill: ${kills} SIGKILLs in ${lives} runs of ${whole.events} events and ${whole.requests} requests`);
    expect(kills).toBeGreaterThanOrEqual(least);
  });
});

function chatCost(report: RunDocument): string {
  return report.steps.find(({ kind }) => kind === "chat")?.attempts.at(-1)?.cost ?? "0";
}

describe("the command line, with the local service in the same process", () => {
  test(
    "a kill takes both down, and resume finishes both, however often [G2]",
    async () => {
      const recipe = join(root, "recipes/talking-avatar.ts");
      const cwd = emptyFolder();
      let running = startCli(["run", recipe, "--id", "both", "-i", "script=Good day."], { cwd });
      await using journal = await viewJournal(join(cwd, ".showrunner/journal.db"), running.end);
      for (const seq of [3, 14]) {
        await journal.reached("both", seq, running.end);
        running.child.kill("SIGKILL");
        await running.end;
        running = startCli(["resume", "both"], { cwd });
      }
      const { code, stderr } = await running.end;
      expect(code, stderr).toBe(0);
      const report = JSON.parse((await cli(["show", "both", "--json"], { cwd })).stdout) as RunDocument;
      expect(report.steps.flatMap(({ attempts }) => attempts)).toHaveLength(4);
      expectRealFiles(report);
    },
    longMs,
  );
});
