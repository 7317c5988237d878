import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEFAULT_LEASE_MS } from "../../../src/core/engine/options/options.ts";
import { openShowrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { freePort } from "../../support/free-port.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { lacksRestate, RestateServer } from "../../support/restate.ts";
import type { EngineSpec } from "./engines.ts";
import { slow } from "./fixtures/slow.ts";
import { studio } from "./fixtures/studio.ts";
import { Fleet } from "./support/fleet.ts";

const LONG = 300_000;
/** After so long a run is stuck. */
const STUCK_MS = 60_000;
const RUNS = 4;

/** Makes all of a process five minutes fast, before anything of it is loaded. */
const FAST = `
const { now } = Date;
const ahead = () => now() + 300_000;
globalThis.Date = class extends Date {
  constructor(...given) {
    super(...(given.length === 0 ? [ahead()] : given));
  }
  static now() {
    return ahead();
  }
};`;
const file = fileURLToPath(new URL("./chaos-process.ts", import.meta.url));

let folder: string;
let service: LocalService;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "clocks-and-kills-"));
  const rateLimit = { requests: 1_000_000, windowMs: 60_000 };
  service = await startLocalService({
    renderer: "stub",
    balance: 100_000,
    dataDir: join(folder, "service"),
    rateLimit,
  });
}, LONG);
afterAll(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
}, LONG);

/** Of a journal of a test's own: who starts runs there, and what its workers are given. */
async function place(name: string, journal: string) {
  const { baseUrl, apiKey } = service;
  const mediaDir = join(folder, name, "media");
  const show = await openShowrunner({ journal, baseUrl, apiKey, mediaDir, notify: false });
  const args = (spec: EngineSpec) => [
    ...[journal, baseUrl, apiKey, mediaDir],
    ...[String(DEFAULT_LEASE_MS), JSON.stringify(spec)],
  ];
  return { show, args };
}

describeNeeding(lacksPostgres())("Four workers on PostgreSQL, the clock of one five minutes fast,", () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
  }, LONG);
  afterAll(() => cluster?.remove(), LONG);

  const engines: readonly (readonly [EngineSpec["kind"], (database: string) => Promise<EngineSpec>])[] = [
    ["timers", async () => ({ kind: "timers" })],
    ["pg-boss", async (connectionString) => ({ kind: "pg-boss", connectionString })],
  ];
  test.each(engines)(
    "with the engine %s bring every run to its end within a minute",
    { timeout: LONG },
    async (kind, specOf) => {
      const database = await cluster.createDatabase();
      await keepsUp(kind, database, await specOf(database));
    },
  );

  describeNeeding(lacksRestate())("and Restate", () => {
    let restate: RestateServer;
    beforeAll(async () => {
      restate = await RestateServer.start();
    }, LONG);
    afterAll(() => restate?.remove(), LONG);

    test("bring every run to its end within a minute", { timeout: LONG }, async () => {
      const { ingress, admin } = restate;
      const endpoint = { admin, port: await freePort() };
      await keepsUp("restate", await cluster.createDatabase(), { kind: "restate", ingress, endpoint });
    });
  });
});

async function keepsUp(name: string, journal: string, spec: EngineSpec): Promise<void> {
  const { show, args } = await place(name, journal);
  const fleets = [
    new Fleet({ file, size: 3, folder, name, args: () => args(spec) }),
    new Fleet({
      ...{ file, size: 1, folder, name: `${name}-fast`, args: () => args(spec) },
      execArgv: ["--import", `data:text/javascript,${encodeURIComponent(FAST)}`],
    }),
  ];
  try {
    for (const fleet of fleets) await fleet.start();
    const startedAt = Date.now();
    const ids = Array.from({ length: RUNS }, (_, index) => `run-${index}`);
    for (const id of ids) await show.start(studio, { name: id }, { id, outDir: join(folder, name, id) });
    const open = async () => {
      const shown = await Promise.all(ids.map((id) => show.show(id)));
      return shown.filter(({ status }) => status !== "succeeded").map(({ id, status }) => `${id} ${status}`);
    };
    await expect.poll(open, { timeout: STUCK_MS, interval: 250 }).toEqual([]);
    console.log(`${name}: ${RUNS} runs after ${Date.now() - startedAt} ms`);
  } catch (error) {
    for (const fleet of fleets) console.error(fleet.log().slice(-3_000));
    throw error;
  } finally {
    for (const fleet of fleets) fleet.kill();
    await show.close();
  }
}

test("A run whose process was killed within a local function goes on with the next worker of --engine timers", {
  timeout: LONG,
}, async () => {
  const { show, args } = await place("killed", join(folder, "killed/journal.db"));
  const worker = (name: string, env: NodeJS.ProcessEnv) =>
    new Fleet({ file, size: 1, folder, name, env, args: () => args({ kind: "timers" }) });
  const first = worker("first", { HANGS: "1" });
  const next = worker("next", {});
  try {
    await first.start();
    const { id } = await show.start(slow, {}, { outDir: join(folder, "killed/out") });
    const step = async () => (await show.show(id)).steps[0]!.status;
    await expect.poll(step, { timeout: STUCK_MS, interval: 50 }).toBe("running");
    // Its slice is over by then, and the function goes on.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    first.kill();
    await next.start();
    const killedAt = Date.now();
    await expect.poll(step, { timeout: STUCK_MS, interval: 100 }).toBe("succeeded");
    console.log(`taken over after ${Date.now() - killedAt} ms`);
  } finally {
    first.kill();
    next.kill();
    await show.close();
  }
});
