import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { viewJournal } from "../cli/support/journal.ts";
import { Nursery } from "../cli/support/lives.ts";
import { isFull } from "../support/sample.ts";
import { newFolder } from "../support/temporary-folder.ts";

const KILLS = isFull ? 20 : 8;
const folder = newFolder();
let service: LocalService;
let nursery: Nursery;

beforeAll(async () => {
  const rateLimit = { requests: 1e6, windowMs: 60_000 };
  service = await startLocalService({ renderer: "stub", balance: 1000, rateLimit, speed: 20 });
  nursery = new Nursery("test/film/fixtures/judged-run.ts");
});
afterAll(async () => {
  nursery.close();
  await service.close();
});

/** Jobs and chats that the service was paid for so far. */
function paid() {
  const { jobs_created, jobs_by_model } = service.stats();
  const chats = jobs_by_model["chat-1"] ?? 0;
  return { jobs: jobs_created - chats, chats };
}

/** A run whose process is killed each time that it has added so many events to the journal. */
async function live(id: string, after: readonly number[]) {
  const home = join(folder, id);
  mkdirSync(home);
  const before = paid();
  const left = [...after];
  let kills = 0;
  for (;;) {
    const next = left.shift();
    const life = { baseUrl: service.baseUrl, apiKey: service.apiKey, folder: home, id };
    const { child, ended } = await nursery.live(life);
    await using journal = await viewJournal(join(home, "journal.db"), ended);
    if (next !== undefined) {
      const from = (await journal.store.run(id))?.lastSeq ?? 0;
      const last = ended.then((outcome) => ({ code: 0, stdout: "", stderr: JSON.stringify(outcome?.message) }));
      const reached = journal.reached(id, from + next, last);
      const isThere = await reached.then(
        () => true,
        () => false,
      );
      if (isThere && child.kill("SIGKILL")) kills += 1;
    }
    const outcome = await ended;
    if (outcome === null) continue;
    const now = paid();
    const ledger = await journal.store.ledger(id);
    const events = (await journal.store.read(id)).map(({ event }) => event.type);
    const made = { jobs: now.jobs - before.jobs, chats: now.chats - before.chats };
    return { ...outcome, ...made, ledger, kills, lost: events.filter((type) => type === "chat.abandoned").length };
  }
}

test(
  `killed ${KILLS} times, runs with judges buy the same jobs, and each chat that is asked again is one whose answer was lost`,
  async () => {
    const calm = await live("calm", []);
    expect(calm).toMatchObject({ status: "succeeded", jobs: 3, chats: 2, lost: 0 });
    const essence = ({ report, status }: typeof calm) => [
      status,
      report.steps.map(({ path, status }) => [path, status]),
    ];
    let kills = 0;
    for (let number = 1; kills < KILLS; number += 1) {
      // Each run dies at other places, a second time soon after the first.
      const run = await live(`run-${number}`, [3 * number, 1 + (number % 7), 4 + number]);
      kills += run.kills;
      expect(essence(run), `run ${number}`).toEqual(essence(calm));
      expect(run.jobs).toBe(3);
      expect(run.chats).toBeLessThanOrEqual(2 + run.lost);
      expect(run.ledger.heldMicros).toBe(0);
    }
  },
  KILLS * 60_000,
);
