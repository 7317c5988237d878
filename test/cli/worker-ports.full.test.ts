import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { cli, emptyFolder, startCli } from "./support/cli.ts";

const folder = emptyFolder();
const env = {
  SHOWRUNNER_BASE_URL: "http://127.0.0.1:9/v3",
  SHOWRUNNER_API_KEY: "nobody:nothing-that-counts",
  SHOWRUNNER_JOURNAL: join(folder, "journal.db"),
};
const LONG = { timeout: 60_000 };

/** Status of a GET; null where nobody listens. */
function get(host: string, port: number, path: string, as?: string): Promise<number | null> {
  return new Promise((resolve) => {
    request({ host, port, path, headers: as === undefined ? {} : { host: as } }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on("error", () => resolve(null))
      .end();
  });
}

/** An address by which others reach this machine. */
const others = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.internal === false && one.family === "IPv4")?.address;

async function listening(...more: readonly string[]) {
  const [health, webhooks] = [await freePort(), await freePort()];
  const ports = ["--health-port", String(health), "--webhooks", String(webhooks)];
  const worker = startCli(["worker", ...ports, ...more], { cwd: folder, env });
  await expect.poll(() => get("127.0.0.1", health, "/healthz"), LONG).toBe(200);
  await expect.poll(() => get("127.0.0.1", webhooks, "/"), LONG).toBe(405);
  return { health, webhooks, ...worker };
}

test(
  "the ports of a worker answer this machine alone, by its own names, unless --host says otherwise",
  LONG,
  async () => {
    const own = await listening();
    expect(await get("127.0.0.1", own.health, "/metrics", `localhost:${own.health}`)).toBe(200);
    expect(await get("127.0.0.1", own.health, "/metrics", "attacker.example")).toBe(403);
    // A proxy on this machine hands on what it was called by; who sent a webhook is told by its signature.
    expect(await get("127.0.0.1", own.webhooks, "/", "studio.example")).toBe(405);
    const open = await listening("--host", "0.0.0.0");
    expect(await get("127.0.0.1", open.health, "/readyz", "studio.example")).toBe(200);
    if (others === undefined) console.warn("NOT CHECKED: this machine has no address but loopback.");
    else {
      expect([await get(others, own.health, "/healthz"), await get(others, own.webhooks, "/")]).toEqual([null, null]);
      expect([await get(others, open.health, "/healthz"), await get(others, open.webhooks, "/")]).toEqual([200, 405]);
    }
    for (const { child, end } of [own, open]) {
      child.kill("SIGTERM");
      await end;
    }
  },
);

test.each([["serve"], ["dashboard"], ["worker", "--health-port", "8080"]])(
  "%s refuses an address that is empty, as of an unset variable",
  LONG,
  async (...args) => {
    const { code, stderr } = await cli([...args, "--host", ""], { cwd: folder, env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--host: the value is empty.*give a value: --host/s)]);
  },
);

test("an address that is not this machine's, and one that nothing listens on, are refused by name", LONG, async () => {
  const foreign = await cli(["worker", "--health-port", "8080", "--host", "192.0.2.1"], { cwd: folder, env });
  expect([foreign.code, foreign.stderr]).toEqual([2, expect.stringMatching(/cannot listen on --host 192\.0\.2\.1/)]);
  const idle = await cli(["worker", "--host", "0.0.0.0"], { cwd: folder, env });
  expect([idle.code, idle.stderr]).toEqual([2, expect.stringMatching(/--host .*add --health-port/s)]);
});
