import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { viewJournal } from "../../cli/support/journal.ts";
import { Nursery } from "../../cli/support/lives.ts";
import { chaosProxy, type HttpProxy } from "../../support/proxy.ts";
import { isFull } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const LIVES = Number(process.env.SHOWRUNNER_KILLS ?? (isFull ? 24 : 10));
const KILLS_A_RUN = 2;

const folder = newFolder();
const nursery = new Nursery("test/core/engine/fixtures/rewriting-run.ts");
let service: LocalService;
let proxy: HttpProxy;
/** At which request the process is killed, and whether the service had it. */
let fatal: { readonly count: number; readonly side: "cut before" | "cut after"; readonly kill: () => void } | null =
  null;
let seen = 0;
let asked = 0;

beforeAll(async () => {
  const rateLimit = { requests: 1e6, windowMs: 60_000 };
  service = await startLocalService({ renderer: "stub", balance: 1000, rateLimit });
  service.faults([
    { kind: "fail_job", prompt: "^a duel$", model: models.image.id, code: "MODERATION_FAILED", retryable: false },
  ]);
  proxy = await chaosProxy(service.baseUrl, (_, path) => {
    if (path.endsWith("/chat/completions")) asked += 1;
    seen += 1;
    if (fatal === null || seen < fatal.count) return "none";
    const { side, kill } = fatal;
    fatal = null;
    kill();
    return side;
  });
});

afterAll(async () => {
  nursery.close();
  await proxy.close();
  await service.close();
});

async function live(number: number) {
  const id = `run-${number}`;
  const home = join(folder, id);
  mkdirSync(home);
  const before = service.stats();
  let kills = 0;
  asked = 0;
  for (let index = 0; ; index += 1) {
    const { child, ended } = await nursery.live({ baseUrl: proxy.baseUrl, apiKey: service.apiKey, folder: home, id });
    const n = number * KILLS_A_RUN + index;
    seen = 0;
    const kill = () => {
      kills += child.kill("SIGKILL") ? 1 : 0;
    };
    fatal =
      index < KILLS_A_RUN ? { count: 1 + ((n * 7) % 41), side: n % 2 === 0 ? "cut before" : "cut after", kill } : null;
    const outcome = await ended;
    if (outcome === null) continue;
    fatal = null;
    await using journal = await viewJournal(join(home, "journal.db"), ended);
    const events = (await journal.store.read(id)).map(({ event }) => event);
    const chats = service.stats().jobs_created;
    return { ...outcome, events, ledger: await journal.store.ledger(id), kills, made: chats - before.jobs_created };
  }
}

test("runs with rewritten prompts, killed by SIGKILL: each prompt is rewritten at most once, and nothing is paid for twice", async () => {
  let [kills, whole, unanswered] = [0, 0, 0];
  for (let number = 0; number * KILLS_A_RUN < LIVES; number += 1) {
    const run = await live(number);
    kills += run.kills;
    const intents = run.events.filter(({ type }) => type === "chat.intended");
    const steps = intents.map((event) => ("step" in event ? event.step : ""));
    expect(new Set(steps).size, "one rewriting a step").toBe(steps.length);
    expect(asked, "one request an intent").toBeLessThanOrEqual(intents.length);
    const submitted = run.events.filter(({ type }) => type === "job.submitted");
    expect(run.made, "jobs and chats that the journal knows").toBeLessThanOrEqual(submitted.length + intents.length);
    const jobs = submitted.map((event) => (event.type === "job.submitted" ? event.jobId : ""));
    expect(new Set(jobs).size).toBe(jobs.length);
    expect(run.ledger.heldMicros).toBe(0);
    if (run.status === "succeeded") {
      whole += 1;
      expect(run.made).toBe(submitted.length + 2);
      continue;
    }
    const lost = run.report.steps.filter(({ kind, status }) => kind === "chat" && status === "failed");
    expect(lost.map(({ reason }) => reason)).toEqual(lost.map(() => expect.stringContaining("not be sent again")));
    expect(lost.length).toBeGreaterThan(0);
    expect(Number(run.report.unconfirmed)).toBeGreaterThan(0);
    unanswered += 1;
  }
  console.info(`${kills} kills: ${whole} runs whole, ${unanswered} with a rewriting that was never answered`);
  expect(kills).toBeGreaterThan(LIVES / 4);
  expect(whole).toBeGreaterThan(0);
}, 600_000);
