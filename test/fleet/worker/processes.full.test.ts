import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openJournal, openShowrunner, type Showrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { cli, startCli } from "../../cli/support/cli.ts";
import { holder } from "../../core/journal/samples.ts";
import { describeNeeding } from "../../support/absence.ts";
import { freePort } from "../../support/free-port.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";

const LONG = 120_000;
const until = (holds: () => unknown, timeout = LONG) => expect.poll(holds, { timeout, interval: 50 }).toBeTruthy();

interface Delivered {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

describeNeeding(lacksPostgres())("Worker processes of pg-boss", () => {
  let folder: string;
  let cluster: PostgresCluster;
  let service: LocalService;
  let journal: string;
  let show: Showrunner;
  let env: Record<string, string>;
  /** All that the service sent, handed to both workers twice. */
  const delivered: Delivered[] = [];
  let workers: Awaited<ReturnType<typeof startWorker>>[] = [];
  const relay = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const one = { headers: request.headers, body: Buffer.concat(pieces) };
    delivered.push(one);
    const answers = await Promise.all([...workers, ...workers].map(({ webhooks }) => post(webhooks, one)));
    response.writeHead(Math.max(...answers)).end();
  });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "worker-processes-"));
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
    journal = await cluster.createDatabase();
    service = await startLocalService({ renderer: "stub", balance: 100, dataDir: join(folder, "service") });
    const { baseUrl, apiKey } = service;
    env = { SHOWRUNNER_BASE_URL: baseUrl, SHOWRUNNER_API_KEY: apiKey, SHOWRUNNER_JOURNAL: journal };
    show = await openShowrunner({ journal, baseUrl, apiKey, mediaDir: join(folder, "media"), notify: false });
    await new Promise<void>((listening) => relay.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}/hook`;
    await show.client.webhooks.default.set({ url });
    writeFileSync(join(folder, "film.ts"), FILM);
  }, LONG);

  afterAll(async () => {
    for (const { child } of workers) child.kill("SIGKILL");
    relay.close();
    await show?.close();
    await service?.close();
    await cluster?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, LONG);

  async function startWorker(...more: readonly string[]) {
    const [health, webhooks] = [await freePort(), await freePort()];
    const ports = ["--health-port", String(health), "--webhooks", String(webhooks)];
    const worker = startCli(
      ["worker", "--engine", "pg-boss", "--pipelines", folder, "--local-work", "inline", ...ports, ...more],
      {
        cwd: folder,
        env,
      },
    );
    let said = "";
    worker.child.stderr?.on("data", (text: string) => {
      said += text;
    });
    await until(() => said.includes("to stop gracefully"));
    return { ...worker, health, webhooks, said: () => said };
  }

  async function start(id: string, ...more: readonly string[]) {
    const args = ["run", "film.ts", "--id", id, "--budget", "1", "--detach", "--engine", "pg-boss", ...more];
    const begun = await cli(args, { cwd: folder, env });
    expect(begun.code, begun.stderr).toBe(0);
    expect(begun.stdout).toBe(`${id}\n`);
  }

  const succeeded = (id: string) => until(async () => (await show.show(id)).status === "succeeded");
  const reads = () =>
    Object.values(service.stats().requests["GET /jobs/{job_id}"] ?? {}).reduce((sum, n) => sum + n, 0);

  test("a run that is left to them goes on with webhooks, at either of them and each counted once, and one read a job", {
    timeout: LONG,
  }, async () => {
    workers = [await startWorker(), await startWorker()];
    await start("a", "-i", "wait=");
    await succeeded("a");
    expect(reads()).toBe(3);
    // What a poll asks for.
    expect(service.stats().requests["GET /jobs/{job_id}/status"]).toBeUndefined();
    const said = workers.map((worker) => worker.said()).join("");
    const jobs = (await show.show("a")).steps.flatMap(({ attempts }) =>
      attempts.flatMap((attempt) => attempt.job_id ?? []),
    );
    expect(jobs).toHaveLength(3);
    for (const job of jobs) {
      const told = said.match(new RegExp(`Webhook for ${job}: told`, "g"))?.length ?? 0;
      const known = said.match(new RegExp(`Webhook for ${job}: `, "g"))?.length ?? 0;
      // One that came before the answer to its submit is told by the commit that brings the job.
      expect(told).toBeLessThanOrEqual(1);
      expect(known).toBeGreaterThanOrEqual(2);
    }
  });

  test("what is no genuine webhook is refused, and one of a job that no run knows does nothing", {
    timeout: LONG,
  }, async () => {
    const [genuine] = delivered;
    const { webhooks } = workers[0]!;
    const forged = { ...genuine!, body: Buffer.from(genuine!.body.toString().replace("COMPLETED", "FAILED")) };
    expect(await post(webhooks, forged)).toBe(401);
    expect(await post(webhooks, { ...genuine!, body: Buffer.alloc(2_000_000) })).toBe(413);
    expect(await post(webhooks, { headers: {}, body: Buffer.from("{}") })).toBe(400);
    expect((await fetch(`http://127.0.0.1:${webhooks}/`)).status).toBe(405);
    const { jobId } = await show.client.submit({ model: "image-1", input: { prompt: "of no run" } });
    await until(() => workers[0]!.said().includes(`${jobId}: early`));
    expect(await post(webhooks, delivered.at(-1)!)).toBe(200);
  });

  test("each serves metrics that move, and says whether it is ready", { timeout: LONG }, async () => {
    const asked = async (path: string) => (await fetch(`http://127.0.0.1:${workers[0]!.health}${path}`)).status;
    expect([await asked("/healthz"), await asked("/readyz"), await asked("/x")]).toEqual([200, 200, 404]);
    const before = await Promise.all(workers.map(scraped));
    for (const of of before) {
      expect(of('showrunner_runs{status="succeeded"}')).toBe(1);
      expect(of("showrunner_queue_age_seconds")).toBe(0);
      expect(of("showrunner_spent_usd")).toBeGreaterThan(0);
      expect(of("showrunner_held_usd")).toBe(0);
      expect(of("showrunner_leases_lost_total")).toBe(0);
    }
    const all = (of: readonly Metrics[], name: string) => of.reduce((sum, metric) => sum + (metric(name) ?? 0), 0);
    expect(all(before, 'showrunner_steps_finished_total{status="succeeded"}')).toBe(4);
    expect(all(before, 'showrunner_runs_finished_total{status="succeeded"}')).toBe(1);
    expect(all(before, "showrunner_charged_usd_total")).toBeCloseTo(before[0]!("showrunner_spent_usd")!);

    // Whoever drives the next run is told 429 once, and loses it while its function waits.
    service.faults([
      { kind: "error", code: "RESOURCE_EXHAUSTED", retry_after: 0, route: "POST /models/{model}", count: 1 },
    ]);
    const gate = join(folder, "gate-b");
    await start("b", "-i", `wait=${gate}`);
    await until(async () =>
      (await show.show("b")).steps.some(({ path, status }) => path === "list" && status === "running"),
    );
    const store = await openJournal(journal);
    await until(async () => (await store.run("b"))!.lease !== null);
    const outcome = await store.takeLease("b", holder("thief"), { at: Date.now(), ttlMs: 1_000, isDead: () => true });
    if (!outcome.acquired) throw new Error("not taken");
    writeFileSync(gate, "");
    await until(async () => all(await Promise.all(workers.map(scraped)), "showrunner_leases_lost_total") === 1);
    await store.releaseLease(outcome.lease);
    await store.close();
    await succeeded("b");
    const after = await Promise.all(workers.map(scraped));
    expect(all(after, "showrunner_requests_limited_total")).toBe(1);
    expect(all(after, "showrunner_requests_total")).toBeGreaterThan(all(before, "showrunner_requests_total"));
  });

  test("SIGTERM ends one in good order, and what it left goes on at the other", { timeout: LONG }, async () => {
    const gate = join(folder, "gate-c");
    await start("c", "-i", `wait=${gate}`);
    const driver = await driverOf("c");
    driver.child.kill("SIGTERM");
    const ready = async () => (await fetch(`http://127.0.0.1:${driver.health}/readyz`)).status;
    await until(async () => (await ready()) === 503);
    writeFileSync(gate, "");
    const { code, stderr } = await driver.end;
    expect({ code, stderr }).toMatchObject({ code: 130, stderr: expect.stringContaining("taking no new work") });
    await succeeded("c");
    workers = [...workers.filter((worker) => worker !== driver), await startWorker()];
  });

  test("kill -9 of the one that drives a run hands it to the other, and nothing is paid twice", {
    timeout: LONG,
  }, async () => {
    const gate = join(folder, "gate-d");
    await start("d", "-i", `wait=${gate}`);
    const driver = await driverOf("d");
    driver.child.kill("SIGKILL");
    await driver.end;
    workers = workers.filter((worker) => worker !== driver);
    const killedAt = Date.now();
    writeFileSync(gate, "");
    await succeeded("d");
    console.log(`taken over ${Date.now() - killedAt} ms after the kill`);
    // Three of each run, and the one of none.
    expect(service.stats().jobs_created).toBe(4 * 3 + 1);
  });

  test("flags that mean nothing with an engine are refused by name, with what to do", { timeout: LONG }, async () => {
    const refused = async (...args: readonly string[]) => {
      const { code, stderr } = await cli(args, { cwd: folder, env });
      expect(code).toBe(2);
      return stderr;
    };
    const engine = ["--engine", "pg-boss"];
    expect(await refused("worker", ...engine, "--once")).toMatch(/--once .*worker --once/s);
    expect(await refused("worker", ...engine, "--health-port", String(service.port))).toMatch(
      /--health-port .*EADDRINUSE/s,
    );
    expect(await refused("worker", "--engine-url", "postgres://db")).toMatch(/--engine-url .*add --engine/s);
    expect(await refused("run", "film.ts", ...engine)).toMatch(/--engine .*add --detach/s);
    const capped = await refused("run", "film.ts", "--detach", ...engine, "--wait-for-cap", "1d");
    expect(capped).toMatch(/--wait-for-cap .*on their own/s);
  });

  /** The worker that holds the run while its function waits. */
  async function driverOf(id: string) {
    const store = await openJournal(journal);
    try {
      await until(async () =>
        (await show.show(id)).steps.some(({ path, status }) => path === "list" && status === "running"),
      );
      await until(async () => (await store.run(id))!.lease !== null);
      const { pid } = (await store.run(id))!.lease!.holder;
      return workers.find(({ child }) => child.pid === pid)!;
    } finally {
      await store.close();
    }
  }
});

type Metrics = (name: string) => number | undefined;

async function scraped({ health }: { readonly health: number }): Promise<Metrics> {
  const text = await (await fetch(`http://127.0.0.1:${health}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const values = new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
  return (name) => values.get(name);
}

async function post(port: number, { headers, body }: Delivered): Promise<number> {
  const { host: _, connection: __, "content-length": ___, ...rest } = headers;
  const sent = Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]);
  return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: sent, body: new Uint8Array(body) }))
    .status;
}

/** Three jobs, each made of the one before, and a function that waits for a file. */
const FILM = `import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { model, pipeline } from "showrunner";
import { z } from "zod";

const image = model("image-1", { yields: "image", maxOutputs: 4 });

export default pipeline("film", {
  input: z.object({ wait: z.string() }),
  build({ input, job, task }) {
    const look = job("look", image, { prompt: "look " + input.wait });
    const scene = job("scene", image, { prompt: "scene " + input.wait, images: [look] });
    const last = job("last", image, { prompt: "last " + input.wait, images: [scene] });
    return {
      last,
      list: task("list", { last }, async () => {
        while (input.wait !== "" && !existsSync(input.wait)) await setTimeout(50);
        return { done: true };
      }),
    };
  },
});
`;
