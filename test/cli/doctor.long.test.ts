import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

interface Finding {
  readonly check: string;
  readonly state: "ok" | "fail" | "unknown";
  readonly ok: boolean;
  readonly detail: string;
  readonly next: string | null;
}

let service: Service;
beforeAll(async () => {
  service = await startService(["--stub"]);
});
afterAll(() => service.stop());

async function doctor(args: readonly string[] = [], cwd = emptyFolder(), env = service.env) {
  // Without a PATH, ffmpeg is not found, whose start takes seconds.
  const { code, stdout, stderr } = await cli(["doctor", "--json", ...args], { cwd, env: { ...env, PATH: "" } });
  const findings = stdout === "" ? [] : (JSON.parse(stdout) as readonly Finding[]);
  return { code, stderr, findings, find: (check: string) => findings.find((one) => one.check === check) };
}

describe("doctor", () => {
  test("finds everything in order, and reports what it cannot check", async () => {
    const { code, find } = await doctor();
    expect(code).toBe(0);
    for (const check of [
      "node",
      "credential",
      "journal",
      "disk",
      "notify",
      "service",
      "balance",
      "clock",
      "webhooks",
    ]) {
      expect(find(check), check).toMatchObject({ state: "ok", ok: true });
    }
    expect(find("reachable")).toMatchObject({ state: "unknown", ok: true });
  });

  test("sees a clock that is wrong", async () => {
    const operator = new URL("/_local/clock", service.baseUrl);
    const headers = { "content-type": "application/json" };
    await fetch(operator, { method: "POST", headers, body: JSON.stringify({ advance_ms: 600_000 }) });
    const { code, find } = await doctor();
    expect(find("clock")).toMatchObject({ state: "fail" });
    expect(find("clock")?.detail).toMatch(/service's clock is (10 min|9 min 5\d)/);
    expect(code).toBe(1);
  });

  test("a damaged journal is a finding, and the service is left alone", async () => {
    const cwd = emptyFolder();
    mkdirSync(join(cwd, ".showrunner"));
    writeFileSync(join(cwd, ".showrunner/journal.db"), "this is no journal");
    const { code, find } = await doctor([], cwd);
    expect(code).toBe(1);
    expect(find("journal")).toMatchObject({ state: "fail" });
    expect(find("service")).toBeUndefined();
  });

  test("without a service that answers, reports it and what to do", async () => {
    const env = { SHOWRUNNER_BASE_URL: `http://127.0.0.1:${await freePort()}/v3`, SHOWRUNNER_API_KEY: "a:b" };
    const { code, find, stderr } = await doctor([], emptyFolder(), env);
    expect(code).toBe(1);
    expect(find("service")).toMatchObject({ state: "fail" });
    expect(stderr).toMatch(/Next: \S/);
  });

  test("at an address without the version, says what the address lacks, and not to ask itself again", async () => {
    const env = { ...service.env, SHOWRUNNER_BASE_URL: service.baseUrl.replace(/\/v3$/, "") };
    const { find, stderr } = await doctor([], emptyFolder(), env);
    expect(find("service")).toMatchObject({ state: "fail" });
    expect(stderr).toContain("Next: check whether the address should be");
  });

  test.each([
    ["a wrong key", { SHOWRUNNER_API_KEY: "wrong:key" }, "service"],
    ["a key of the previous API", { SHOWRUNNER_API_KEY: "sk_old" }, "credential"],
    ["no key", { SHOWRUNNER_API_KEY: "" }, "credential"],
    ["an unknown service", { SHOWRUNNER_SERVICE: "nobody", SHOWRUNNER_BASE_URL: "" }, "credential"],
    ["a proxy that is none", { HTTPS_PROXY: "ftp://nowhere" }, "proxy"],
    ["certificates that cannot be read", { NODE_EXTRA_CA_CERTS: "/nowhere.pem" }, "authority"],
  ])("with %s, every failed check says what to do next", async (_what, changed, check) => {
    const { code, findings } = await doctor([], emptyFolder(), { ...service.env, ...changed });
    expect(code).toBe(1);
    const failures = findings.filter(({ state }) => state === "fail");
    expect(failures.map((one) => one.check)).toContain(check);
    for (const { check, next } of failures) expect(next, check).toMatch(/\S/);
  });

  test("an address that leads here is heard, one that leads elsewhere is not", async () => {
    const port = await freePort();
    const here = await doctor(["--webhook-url", `http://127.0.0.1:${port}/hook`, "--webhook-port", String(port)]);
    expect(here.find("reachable")).toMatchObject({ state: "ok" });
    const elsewhere = await doctor(["--webhook-url", service.baseUrl, "--webhook-port", String(port)]);
    expect(elsewhere.find("reachable")).toMatchObject({ state: "fail" });
  });

  test.each([
    [["--webhook-url", "ftp://x", "--webhook-port", "8080"], "is not an HTTP URL"],
    [["--webhook-url", "https://example.test"], "--webhook-url has no effect without --webhook-port"],
  ])("refuses %j before anything is opened", async (args, message) => {
    const { code, stderr } = await doctor(args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
