import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { greyPng, plainWav } from "../../../src/core/kit/placeholder-media.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { viewJournal } from "../../cli/support/journal.ts";
import { Nursery } from "../../cli/support/lives.ts";
import { describeNeeding } from "../../support/absence.ts";
import { chaosProxy, type HttpProxy } from "../../support/proxy.ts";
import { isFull } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { TINY_MP4 } from "../../support/tiny-media.ts";
import { lacksPackages, Providers } from "./support/providers.ts";

/** CI takes a sample; 300 take a quarter of an hour. */
const KILLS = Number(process.env.SHOWRUNNER_KILLS ?? (isFull ? 40 : 10));
const KILLS_A_RUN = 4;

/** When something happens to a process, counted from its start. */
type Moment =
  | { readonly at: "event"; readonly after: number }
  | {
      readonly at: "request";
      readonly of: "work" | "any";
      readonly count: number;
      readonly side: "cut before" | "cut after";
      /** Else only the answer is lost. */
      readonly kills: boolean;
    };

/** The same for each run of the same number; the sides, kinds and distances take turns at coprime rates. */
function momentsOf(run: number): readonly Moment[] {
  return Array.from({ length: KILLS_A_RUN + 1 }, (_, index): Moment => {
    const n = run * (KILLS_A_RUN + 1) + index;
    if (n % 3 === 0) return { at: "event", after: 1 + ((n * 5) % 17) };
    const side = n % 2 === 0 ? "cut before" : "cut after";
    const of = n % 7 < 4 ? "work" : "any";
    return { at: "request", of, count: 1 + (n % (of === "work" ? 5 : 11)), side, kills: n % 11 !== 0 };
  });
}

/** What each step is worth at most, as its pipeline says, micro-dollars. */
const HELD: Readonly<Record<string, number>> = {
  ...{ still: 50_000, voice: 30_000, "cover/1/drawn": 40_000 },
  ...{ walk: 500_000, swim: 500_000, sail: 500_000 },
};
const PROVIDER_OF: Readonly<Record<string, string>> = {
  ...{ still: "fal", voice: "openai", "cover/1/drawn": "replicate", walk: "replicate", swim: "fal", sail: "gateway" },
};

/** What the account there shows for a step, saved by a person. */
function filed(folder: string, path: string): string {
  const [name, bytes] =
    path === "voice"
      ? ["voice.wav", plainWav(500)]
      : path === "still"
        ? ["still.png", greyPng(64)]
        : ["film.mp4", TINY_MP4];
  const file = join(folder, `found-${path}-${name}`);
  writeFileSync(file, bytes);
  return file;
}

describeNeeding(lacksPackages())("a run of jobs and four providers, killed repeatedly", () => {
  const providers = new Providers();
  const nursery = new Nursery("test/core/providers/fixtures/mixed-run.ts");
  const folder = newFolder();
  let service: LocalService;
  let proxy: HttpProxy;
  const total = { kills: 0, runs: 0, requests: 0, works: 0, sentAgain: 0, unresolved: 0, found: 0, kept: 0, whole: 0 };
  /** Of the process under way. */
  let moment: Moment | undefined;
  let kill: () => void = () => {};
  let seen = { work: 0, any: 0 };

  /** At each request to any service: what becomes of it. */
  function passing(asks: "work" | "any"): "cut before" | "cut after" | null {
    seen.any += 1;
    if (asks === "work") seen.work += 1;
    const now = moment;
    if (now?.at !== "request" || (now.of === "work" && asks !== "work") || seen[now.of] < now.count) return null;
    moment = undefined;
    if (now.kills) kill();
    return now.side;
  }

  beforeAll(async () => {
    await providers.open();
    const rateLimit = { requests: 1e6, windowMs: 60_000 };
    service = await startLocalService({ renderer: "stub", balance: 1000, rateLimit });
    proxy = await chaosProxy(service.baseUrl, (method, path) => {
      return passing(method === "POST" && path.endsWith("/jobs") ? "work" : "any") ?? "none";
    });
  });

  const lifeOf = (number: number) => {
    const id = `run-${number}`;
    const home = join(folder, id);
    const { baseUrl } = proxy;
    // Few at once: a kill leaves the others for those to come.
    const concurrency = 1 + (number % 3);
    return { baseUrl, apiKey: service.apiKey, folder: home, id, concurrency, providers: providers.origin };
  };

  afterAll(async () => {
    nursery.close();
    await proxy.close();
    await providers.close();
    await service.close();
  });

  /** One run, in as many processes as it takes until one ends by itself with nothing more to happen to it. */
  async function live(number: number) {
    const life = lifeOf(number);
    const { id, folder: home } = life;
    mkdirSync(home);
    providers.reset();
    // The next option of a second choice takes over from it.
    providers.trouble = ({ path }, asks) => {
      const trouble = passing(asks === "work" ? "work" : "any");
      if (path.includes("flux-schnell") && trouble !== "cut before") return { status: 422 };
      return trouble;
    };
    const left = [...momentsOf(number)];
    const jobs = service.stats().jobs_created;
    for (;;) {
      const next = left.shift();
      moment = undefined;
      seen = { work: 0, any: 0 };
      const { child, ended } = await nursery.live(life);
      kill = () => {
        total.kills += child.kill("SIGKILL") ? 1 : 0;
      };
      moment = next;
      await using journal = await viewJournal(join(home, "journal.db"), ended);
      if (next?.at === "event") {
        const from = (await journal.store.run(id))?.lastSeq ?? 0;
        const last = ended.then((outcome) => ({ code: 0, stdout: "", stderr: JSON.stringify(outcome?.message) }));
        await journal.reached(id, from + next.after, last).then(kill, () => {});
      }
      const outcome = await ended;
      if (outcome === null || (outcome.status !== "succeeded" && left.length > 0)) continue;
      return {
        ...outcome,
        events: (await journal.store.read(id)).map(({ event }) => event),
        ledger: await journal.store.ledger(id),
        jobs: service.stats().jobs_created - jobs,
      };
    }
  }

  type RunOutcome = Awaited<ReturnType<typeof live>>;

  function worksOf(path: string): number {
    const words = path.split("/").at(-1)!;
    return providers.works.filter((work) => work.words === words && work.provider === PROVIDER_OF[path]).length;
  }

  function expectPromisesKept({ report, events, ledger, jobs, status, message }: RunOutcome) {
    const statusOf = (path: string) => report.steps.find((step) => step.path === path)!.status;
    const intents = events.filter((event) => event.type === "job.submit.intended");
    const accepted = events.filter((event) => event.type === "job.submitted");
    for (const name of new Set(Object.values(PROVIDER_OF))) {
      const asked = providers.asked.filter(({ provider }) => provider === name);
      const keys = new Set(asked.map(({ headers }) => headers["idempotency-key"])).size;
      const requests = name === "gateway" ? keys : asked.length;
      expect(requests, name).toBeLessThanOrEqual(intents.filter(({ provider }) => provider === name).length);
      total.sentAgain += asked.length - requests;
    }
    let heldMicros = 0;
    for (const [path, hold] of Object.entries(HELD)) {
      const works = worksOf(path);
      expect(works, `paid for ${path}`).toBeLessThanOrEqual(1);
      const at = statusOf(path);
      if (at === "unresolved") {
        heldMicros += hold;
        total.unresolved += 1;
        expect(
          accepted.map(({ step }) => step),
          "what was accepted is asked for",
        ).not.toContain(path);
        expect(path, "is sent again under its key").not.toBe("sail");
      } else {
        expect(at === "succeeded", `${path} is ${at}, and ${works} was made`).toBe(works === 1);
        total.kept += works;
      }
    }
    expect(ledger.heldMicros).toBe(heldMicros);
    const jobSteps = accepted.filter(({ provider }) => provider === undefined).map(({ step }) => step);
    expect(jobSteps.map(statusOf)).toEqual(jobSteps.map(() => "succeeded"));
    expect(jobSteps).toHaveLength(jobs);
    // Only what was certainly refused has a second choice.
    expect(jobSteps.includes("cover/2/made")).toBe(statusOf("cover/1/drawn") === "failed");
    expect(status, message ?? "").toBe(heldMicros === 0 ? "succeeded" : "paused");
    total.whole += Number(heldMicros === 0);
  }

  /** A person looks at each account, and gives what was made there: then nothing is held, and nothing asked for anew. */
  async function expectAllFound(number: number, { report }: RunOutcome): Promise<void> {
    const life = lifeOf(number);
    const lost = report.steps.filter(({ status }) => status === "unresolved").map(({ path }) => path);
    if (lost.length === 0) return;
    const found = Object.fromEntries(lost.map((path) => [path, worksOf(path) > 0 ? filed(life.folder, path) : null]));
    const asked = providers.asked.length;
    const { ended } = await nursery.live({ ...life, found });
    const outcome = (await ended)!;
    await using journal = await viewJournal(join(life.folder, "journal.db"), ended);
    expect((await journal.store.ledger(life.id)).heldMicros).toBe(0);
    expect(providers.asked).toHaveLength(asked);
    const statuses = new Map(outcome.report.steps.map(({ path, status }) => [path, status]));
    const expected = (path: string) => (found[path] === null ? "failed" : "succeeded");
    expect(lost.map((path) => [path, statuses.get(path)])).toEqual(lost.map((path) => [path, expected(path)]));
    total.found += lost.filter((path) => found[path] !== null).length;
  }

  test(`${KILLS} kills: no request without its intent, nothing paid twice, nothing lost that can be found, all else held [G1]`, async () => {
    while (total.kills < KILLS) {
      const number = total.runs++;
      const run = await live(number);
      total.requests += providers.asked.length;
      total.works += providers.works.length;
      expectPromisesKept(run);
      await expectAllFound(number, run);
    }
    console.log(`kills: ${JSON.stringify(total)}`);
    for (const count of [total.unresolved, total.found, total.kept]) expect(count).toBeGreaterThan(0);
  }, 3_600_000);
});
