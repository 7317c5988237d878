import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../../src/core/api/index.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import type { JournalStore } from "../../../src/core/journal/store.ts";
import { openShowrunner } from "../../../src/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { builtInCatalog, FakePaidService, models, newFolder, pipelineOf } from "../../support/engine.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";

const MINUTE_MS = 60_000;
const one = pipelineOf("one", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));

describeNeeding(lacksPostgres())("Machines whose clocks are apart", () => {
  let cluster: PostgresCluster;
  const folder = newFolder();
  const stores: JournalStore[] = [];
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
  }, 120_000);
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await cluster.remove();
  }, 120_000);

  async function machine(url: string, paidService: FakePaidService, aheadMs: number) {
    const now = () => Date.now() + aheadMs;
    const journal = await openPostgresJournal(url, { now });
    stores.push(journal);
    const clock = { ...systemClock, now };
    const client = paidService.client();
    return { show: await openShowrunner({ client, journal, clock, mediaDir: join(folder, "media") }), journal, now };
  }

  test.each([5, -5, 24 * 60])("write wakes that all of them understand (%i minutes ahead)", async (minutes) => {
    const url = await cluster.createDatabase();
    const paidService = new FakePaidService({ catalog: builtInCatalog() });
    const odd = await machine(url, paidService, minutes * MINUTE_MS);
    const good = await machine(url, paidService, 0);
    await odd.show.start(one, {}, { id: "x", outDir: join(folder, `${minutes}`) });
    const slice = await odd.show.engine.slice("x");
    const isSoon = (leftMs: number) => leftMs > 0 && leftMs < MINUTE_MS;
    // For the engine of that machine, whose timers go by its clock; and for everybody else.
    expect(isSoon(slice.wakeAt! - odd.now())).toBe(true);
    expect(isSoon((await good.journal.run("x"))!.wakeAt! - good.now())).toBe(true);
    const [first] = await good.journal.read("x", { limit: 1 });
    expect(Math.abs(first!.at - good.now())).toBeLessThan(MINUTE_MS);
    const next = await good.show.engine.slice("x");
    expect(isSoon(next.wakeAt! - good.now())).toBe(true);
  });
});
