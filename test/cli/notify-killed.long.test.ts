import { afterAll, beforeAll, expect, test } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { cli, startCli } from "./support/cli.ts";
import { gateFolder } from "./support/gate.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService(["--stub"]);
});
afterAll(() => service.stop());

test("what a killed process could not tell is told by a worker that has nothing else to do [G51]", async () => {
  const cwd = gateFolder();
  const receiver = await startReceiver(() => 204);
  const hanging = await startHanging();
  const run = startCli(["run", "gate.ts", "--id", "a", "--budget", "5", "--notify", hanging.url], {
    cwd,
    env: service.env,
  });
  await hanging.asked;
  run.child.kill("SIGKILL");
  await run.end;
  await hanging.close();
  const listed = await cli(["notify", "list", "--json"], { cwd });
  expect(JSON.parse(listed.stdout)).toMatchObject([{ event: "run.waiting", attempts: 1, error: null }]);
  const [{ id }] = JSON.parse(listed.stdout);
  const env = { ...service.env, SHOWRUNNER_NOTIFY_URL: receiver.url };
  const worker = startCli(["worker"], { cwd, env });
  const [told] = await receiver.arrived(1);
  expect(told!.headers["x-showrunner-webhook-id"]).toBe(id);
  expect(told!.headers["x-showrunner-webhook-attempt"]).toBe("2");
  worker.child.kill("SIGTERM");
  await worker.end;
  expect(JSON.parse((await cli(["notify", "list", "--json"], { cwd })).stdout)).toEqual([]);
  await receiver[Symbol.asyncDispose]();
});

/** Accepts a connection and never answers. */
async function startHanging() {
  const { createServer } = await import("node:http");
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve());
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as { readonly port: number };
  return {
    url: `http://127.0.0.1:${port}/`,
    asked: asked.promise,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
