import { afterAll, beforeAll, expect, test } from "vitest";
import { createRestateEngine } from "../../../src/fleet/restate/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { freePort } from "../../support/free-port.ts";
import { lacksRestate, RestateServer } from "../../support/restate.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { engineContract, localWork } from "./contract.ts";
import { type EngineSpec, makeKnown, openEngine } from "./engines.ts";
import { takeoverContract } from "./takeover.ts";

const LONG = 60_000;

describeNeeding(lacksRestate())("With Restate:", () => {
  let server: RestateServer;
  let names = 0;
  beforeAll(async () => {
    // Frozen is who does not answer a ping for so long: by default, after a minute.
    server = await RestateServer.start({
      RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: "1s",
      RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: "1s",
    });
  }, 120_000);
  afterAll(() => server.remove(), 120_000);

  const open = async (): Promise<EngineSpec> => {
    const { ingress, admin } = server;
    const endpoint = { port: await freePort(), admin };
    const spec = { kind: "restate", ingress, name: `test${++names}`, endpoint } as const;
    await makeKnown(spec);
    return spec;
  };

  engineContract(
    "Restate",
    async () => {
      const spec = await open();
      return [await openEngine(spec), await openEngine(spec)];
    },
    {
      async handed(what, count) {
        const running = `SELECT id FROM sys_invocation
          WHERE target_service_name = 'test${names}-${what}' AND status = 'running'`;
        const found = async () => (await server.query(running)).length;
        await expect.poll(found, { timeout: 60_000 }).toBe(count);
      },
    },
  );
  takeoverContract(open);

  test("a wake and local work outlive a crash of Restate itself", { timeout: LONG }, async () => {
    const engine = await openEngine(await open());
    const taken: string[] = [];
    await engine.wake("a", { at: Date.now() + 1_000 });
    await engine.delegate(localWork("a"));
    await server.stopServer();
    await expect(engine.wake("a")).rejects.toThrow("Restate did not answer at http://127.0.0.1:");
    await server.startServer();
    const slice = async (runId: string) => {
      taken.push(runId);
      return null;
    };
    await engine.process({ slice, local: async ({ of }) => void taken.push(of) }, { slices: 1, local: 1 });
    await expect.poll(() => taken.toSorted(), { timeout: LONG }).toEqual(["1.0", "a"]);
    await engine.close();
  });

  test("calls whose connection breaks are made again, and take no places for ever", { timeout: LONG }, async () => {
    const port = await freePort();
    const proxy = await tcpProxy(port, () => "pass");
    const { admin, ingress } = server;
    const endpoint = { port, admin, address: `http://127.0.0.1:${proxy.port}` };
    const engine = createRestateEngine({ ingress, name: `test${++names}`, endpoint });
    let [slices, locals, aborted] = [0, 0, 0];
    const held = (signal: AbortSignal) =>
      new Promise<null>((resolve) => {
        signal.addEventListener("abort", () => {
          aborted++;
          resolve(null);
        });
      });
    await engine.process(
      {
        slice: async (_runId, signal) => (++slices > 2 ? null : held(signal)),
        local: async (_work, signal) => void (++locals > 2 || (await held(signal))),
      },
      { slices: 1, local: 1 },
    );
    await engine.wake("a");
    await engine.delegate(localWork("a"));
    for (const times of [1, 2]) {
      await expect.poll(() => [slices, locals], { timeout: LONG }).toEqual([times, times]);
      proxy.sever();
      await expect.poll(() => aborted, { timeout: LONG }).toBe(2 * times);
      proxy.restore();
    }
    await expect.poll(() => [slices, locals], { timeout: LONG }).toEqual([3, 3]);
    await engine.wake("b");
    await expect.poll(() => slices, { timeout: LONG }).toBe(4);
    await engine.close();
    await proxy.close();
  });

  test("what handlers reject with is told here and stays out of Restate", { timeout: LONG }, async () => {
    const told: string[] = [];
    const engine = await openEngine(await open(), (error, what) => told.push(`${what}: ${(error as Error).message}`));
    const reject = async () => {
      throw new Error("s3cr3t");
    };
    await engine.process({ slice: reject, local: reject }, { slices: 1, local: 1 });
    await engine.wake("a");
    await engine.delegate(localWork("a"));
    await expect.poll(() => new Set(told).size, { timeout: LONG }).toBe(2);
    const local = `SELECT * FROM sys_invocation WHERE target_service_name = 'test${names}-local'`;
    const known = async () => JSON.stringify(await server.query(local));
    await expect.poll(known, { timeout: LONG }).toContain("see the worker's log");
    const all = await Promise.all(
      ["sys_invocation", "sys_journal"].map((name) => server.query(`SELECT * FROM ${name}`)),
    );
    expect(JSON.stringify(all)).not.toContain("s3cr3t");
    const done = "SELECT id FROM sys_invocation WHERE status = 'completed'";
    await expect.poll(() => server.query(done), { timeout: LONG }).toEqual([]);
    await engine.close();
  });

  test("a name at the address of another one is refused, and so is one that is none", async () => {
    const spec = await open();
    const engine = await openEngine({ ...spec, name: "other" } as EngineSpec);
    const why = /^Restate at .* did not register .* for other-runs, because test\d+-/;
    const none = { slice: async () => null, local: async () => {} };
    await expect(engine.process(none, { slices: 1, local: 1 })).rejects.toThrow(why);
    await expect(engine.wake("a")).rejects.toThrow("has no worker named other: start a worker");
    const anywhere = createRestateEngine({ ingress: server.ingress, endpoint: { host: "0.0.0.0" } });
    await expect(anywhere.process(none, { slices: 1, local: 1 })).rejects.toThrow(
      "Restate cannot call 0.0.0.0; set the address",
    );
    expect(() => createRestateEngine({ ingress: server.ingress, name: "a b" })).toThrow('name "a b" is invalid');
  });
});
