import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { createClient } from "../../src/core/api/index.ts";
import { chooseService, type ServiceChoice } from "../../src/core/kit/deployments.ts";
import { createMemoryJournal, openShowrunner } from "../../src/index.ts";
import { type LocalServiceOptions, startLocalService } from "../../src/local-service/index.ts";
import { fakeService, json } from "../support/fake-service.ts";
import { fakeIo } from "./support/fake-io.ts";

const HEDRA = "https://api.hedra.com/v3";
const OTHER = "https://media.example/v3";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  vi.unstubAllEnvs();
});

describe("which service and which key", () => {
  const found = (baseUrl: string, apiKey: string | null, keyFrom: string) => ({ baseUrl, apiKey, keyFrom });
  const wrong = (setting: string, problem: RegExp) => ({ setting, problem: expect.stringMatching(problem) });

  test.each<[string, ServiceChoice, Record<string, string>, object | null]>([
    ["nothing", {}, {}, null],
    ["empty variables", {}, { SHOWRUNNER_SERVICE: "", SHOWRUNNER_BASE_URL: "" }, null],
    ["a name", { service: "hedra" }, { HEDRA_API_KEY: "a:b" }, found(HEDRA, "a:b", "HEDRA_API_KEY")],
    ["a name without a key", { service: "hedra" }, {}, found(HEDRA, null, "HEDRA_API_KEY")],
    [
      "a variable's name",
      {},
      { SHOWRUNNER_SERVICE: "hedra", SHOWRUNNER_API_KEY: "c:d" },
      found(HEDRA, "c:d", "SHOWRUNNER_API_KEY"),
    ],
    [
      "two keys",
      { service: "hedra" },
      { HEDRA_API_KEY: "a:b", SHOWRUNNER_API_KEY: "c:d" },
      found(HEDRA, "a:b", "HEDRA_API_KEY"),
    ],
    [
      "a key as an option",
      { service: "hedra", apiKey: "e:f" },
      { HEDRA_API_KEY: "a:b" },
      found(HEDRA, "e:f", "apiKey"),
    ],
    [
      "the address of a known one",
      {},
      { SHOWRUNNER_BASE_URL: `${HEDRA}/`, HEDRA_API_KEY: "a:b" },
      found(`${HEDRA}/`, "a:b", "HEDRA_API_KEY"),
    ],
    ["another's address", { baseUrl: OTHER }, { HEDRA_API_KEY: "a:b" }, found(OTHER, null, "SHOWRUNNER_API_KEY")],
    [
      "a flag over the environment",
      { baseUrl: OTHER },
      { SHOWRUNNER_SERVICE: "hedra" },
      found(OTHER, null, "SHOWRUNNER_API_KEY"),
    ],
    [
      "a name over an address of the environment",
      { service: "hedra" },
      { SHOWRUNNER_BASE_URL: OTHER },
      found(HEDRA, null, "HEDRA_API_KEY"),
    ],
    ["the local one over the environment", { local: true }, { SHOWRUNNER_SERVICE: "hedra" }, null],
    ["both, of the same", { service: "hedra", baseUrl: `${HEDRA}/` }, {}, found(HEDRA, null, "HEDRA_API_KEY")],
    ["two", { service: "hedra", baseUrl: OTHER }, {}, wrong("service", /api\.hedra\.com.*baseUrl selects another/)],
    [
      "both variables, of two",
      {},
      { SHOWRUNNER_SERVICE: "hedra", SHOWRUNNER_BASE_URL: OTHER },
      wrong("SHOWRUNNER_SERVICE", /SHOWRUNNER_BASE_URL selects another/),
    ],
    ["local and hosted", { local: true, service: "hedra" }, {}, wrong("local", /service selects a hosted service/)],
    [
      "a name that nobody knows",
      {},
      { SHOWRUNNER_SERVICE: "toString" },
      wrong("SHOWRUNNER_SERVICE", /known service \(known: hedra\).*SHOWRUNNER_BASE_URL/),
    ],
  ])("%s", (_, choice, env, expected) => {
    const chosen = chooseService(choice, env);
    if (expected === null) expect(chosen).toBeNull();
    else expect(chosen).toMatchObject(expected);
  });

  test("a program names it too, and a missing key is said with the variable that its users know", async () => {
    const at = {
      service: "hedra",
      journal: createMemoryJournal(),
      mediaDir: mkdtempSync(join(tmpdir(), "media-")),
    } as const;
    const show = await openShowrunner({ ...at, apiKey: "key:secret", env: {} });
    expect(show.service).toMatchObject({ kind: "hosted", baseUrl: HEDRA });
    await show.close();
    await expect(openShowrunner({ ...at, env: {} })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      option: "HEDRA_API_KEY",
      message: expect.stringContaining("Hedra (https://api.hedra.com/v3)"),
      next: "export HEDRA_API_KEY=key_id:secret",
    });
    // @ts-expect-error a name that is not known
    await expect(openShowrunner({ ...at, service: "nobody" })).rejects.toMatchObject({ option: "service" });
  });
});

const PIPELINE = `
import { pipeline } from "${join(import.meta.dirname, "../../src/index.ts")}";
import { z } from "zod";
export default pipeline("bell", {
  input: z.object({}),
  build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
});`;

async function started(options: LocalServiceOptions = {}) {
  const service = await startLocalService({ renderer: "stub", ...options });
  closing.push(() => service.close());
  const cwd = mkdtempSync(join(tmpdir(), "hosted-"));
  writeFileSync(join(cwd, "bell.ts"), PIPELINE);
  const run = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    // Without a PATH, doctor finds no ffmpeg, whose start takes seconds.
    const all = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_JOURNAL: join(cwd, "journal.db"), PATH: "", ...env };
    for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
    const { io, stdout, stderr } = fakeIo({ cwd, env: all });
    const code = await runCli(args, io);
    return { code, stdout: stdout(), stderr: stderr() };
  };
  return { service, cwd, run };
}

describe("without a key", () => {
  test("a catalog that is open is listed, shown, pulled, compared and planned with, and nothing is priced", async () => {
    const { run, cwd, service } = await started({ openCatalog: true });
    expect((await run(["models", "list"])).stdout).toContain("image-1");
    expect((await run(["models", "show", "image-1", "--json"])).code).toBe(0);
    expect(await run(["models", "pull"])).toMatchObject({ code: 0 });
    expect(existsSync(join(cwd, "models.ts"))).toBe(true);
    expect(await run(["models", "diff", "bell.ts"])).toMatchObject({ code: 0 });
    const planned = await run(["plan", "bell.ts"]);
    expect(planned.code, planned.stderr).toBe(0);
    expect(planned.stderr).toMatch(/No prices: SHOWRUNNER_API_KEY: is not set[\s\S]*Next: export SHOWRUNNER_API_KEY=/);
    expect(planned.stdout).toMatch(/bell +image-1 +\?/);
    expect(Object.keys(service.stats().requests)).not.toContain("POST /models/{model}/estimate");
  });

  test.each([
    ["a run", ["run", "bell.ts", "--budget", "1"]],
    ["a call", ["api", "/models/image-1/estimate", "--data", '{"input":{"prompt":"x"}}']],
    ["a balance", ["balance"]],
  ])("%s is refused before anything is sent", async (_, args) => {
    const { run, service } = await started({ openCatalog: true });
    const { code, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/SHOWRUNNER_API_KEY: is not set[\s\S]*Next: export SHOWRUNNER_API_KEY=/);
    expect(service.stats().requests).toEqual({});
  });

  test("a catalog that is not open is refused with the key that is missing", async () => {
    const { run } = await started();
    for (const args of [
      ["models", "list"],
      ["models", "pull"],
      ["plan", "bell.ts"],
    ]) {
      expect((await run(args)).stderr, args[0]).toMatch(/error SHOWRUNNER_API_KEY: is not set/);
    }
  });

  test("no run is begun by a program that was opened for its catalog alone", async () => {
    const { service, cwd } = await started({ openCatalog: true });
    const at = { baseUrl: service.baseUrl, journal: createMemoryJournal(), mediaDir: join(cwd, "media"), env: {} };
    const show = await openShowrunner({ ...at, keyOptional: true });
    const { default: bell } = await import(join(cwd, "bell.ts"));
    expect(await show.quote(bell, {})).toMatchObject({
      ok: true,
      totalMicros: { min: 0, max: null },
      balanceMicros: null,
    });
    await expect(show.run(bell, {})).rejects.toBe(show.service.missingKey);
    await show.close();
  });
});

describe("an address or a key of another API", () => {
  test.each([["models", "list"], ["balance"], ["jobs", "list"], ["doctor"], ["api", "/usage"]])(
    "%s %s says that the address lacks its version",
    async (...args) => {
      const { run, service } = await started();
      const base = service.baseUrl.replace(/\/v3$/, "");
      const env = { SHOWRUNNER_BASE_URL: base, SHOWRUNNER_API_KEY: service.apiKey };
      const { code, stdout, stderr } = await run(args, env);
      expect(code).toBe(1);
      expect(stdout + stderr).toContain(`The service's address, ${base}/, does not end with an API version.`);
      expect(stderr).toMatch(/Next: check whether the address should be .*\/v3\n/);
    },
  );

  test.each([["models", "list"], ["balance"], ["plan", "bell.ts"], ["doctor"]])(
    "%s %s names a key of v2",
    async (...args) => {
      const { run } = await started();
      const { code, stdout, stderr } = await run(args, { SHOWRUNNER_API_KEY: "sk_abcdefghijklmnop" });
      expect(code).toBe(1);
      expect(stdout + stderr).toContain("previous API (v2)");
      expect(stderr).toMatch(/Next: create a v3 key/);
      expect(stdout + stderr).not.toContain("abcdefghij");
    },
  );

  test("a key of v3 in one piece is known by its prefix, is no key of v2, and is never shown", async () => {
    const { run, service } = await started();
    const [first, second] = ["sk_hedra_abcdefghijklmnop", "sk_hedra_qrstuvwxyzabcdef"];
    const { stdout, stderr } = await run(["doctor"], { SHOWRUNNER_API_KEY: first });
    expect(stdout).toMatch(/credential +key sk_hedra_[0-9a-f]{8}, from SHOWRUNNER_API_KEY/);
    expect(stdout + stderr).not.toMatch(/previous API|abcdefghij/);
    const clients = [first, second].map((apiKey) => createClient({ baseUrl: service.baseUrl, apiKey }));
    closing.push(...clients.map((client) => () => client.close()));
    expect(new Set(clients.map(({ keyId }) => keyId)).size).toBe(2);
    await expect(clients[0]!.balance()).rejects.toMatchObject({ status: 401, next: null });
  });

  test("a key and an address of v3 are told nothing of the kind", async () => {
    const { service } = await started();
    const client = createClient({ baseUrl: service.baseUrl, apiKey: "sk_id:wrong" });
    closing.push(() => client.close());
    await expect(client.balance()).rejects.toMatchObject({ status: 401, next: null });
    const own = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
    closing.push(() => own.close());
    await expect(own.job("job_none")).rejects.toMatchObject({ status: 404, next: null });
  });
});

describe("models list --modality", () => {
  test("another kind is refused before anything is sent", async () => {
    const { run, service } = await started();
    const { code, stdout, stderr } = await run(["models", "list", "--modality", "vidoe"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Allowed choices are image, video, audio, text");
    expect(service.stats().requests).toEqual({});
  });

  test("every known kind is asked for by its name, text too", async () => {
    const server = await fakeService(
      json(200, { data: [{ id: "zai-org/glm-5.3", modality: "text" }], next_cursor: null }),
    );
    closing.push(() => server.close());
    const { run } = await started();
    const at = { SHOWRUNNER_BASE_URL: server.baseUrl, SHOWRUNNER_API_KEY: "key_1:secret" };
    expect((await run(["models", "list", "--modality", "text"], at)).stdout).toContain("zai-org/glm-5.3");
    expect(server.seen.map(({ path }) => path)).toEqual([expect.stringMatching(/[?&]modality=text(&|$)/)]);
  });
});

test("a key that may do all, some or nothing is made and listed as just that", async () => {
  const { run: anyone, service } = await started();
  const run = (...args: string[]) => anyone(args, { SHOWRUNNER_API_KEY: service.apiKey });
  const create = async (key: object) =>
    JSON.parse((await run("api", "/keys", "--data", JSON.stringify(key))).stdout) as { readonly credential: string };
  await create({ name: "whole" });
  await create({ name: "some", scopes: ["jobs:read", "models:read"] });
  const nothing = await create({ name: "nothing", scopes: [] });
  const refused = await anyone(["models", "list"], { SHOWRUNNER_API_KEY: nothing.credential });
  expect(refused.stderr).toContain("403 PERMISSION_DENIED");
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  closing.push(() => client.close());
  const { data: listed } = await client.keys.list().page();
  expect(Object.fromEntries(listed.map(({ name, scopes }) => [name, scopes]))).toMatchObject({
    whole: "all",
    some: ["jobs:read", "models:read"],
    nothing: [],
  });
});

test("doctor says which service and which variable the key comes from", async () => {
  const { run, service } = await started();
  const { stdout } = await run(["doctor"], { SHOWRUNNER_API_KEY: service.apiKey });
  expect(stdout).toMatch(/credential +key \S+, from SHOWRUNNER_API_KEY/);
  const named = await run(["doctor"], { SHOWRUNNER_BASE_URL: "", SHOWRUNNER_SERVICE: "hedra" });
  expect(named.stdout).toMatch(/FAIL +credential +HEDRA_API_KEY is not set, and neither is SHOWRUNNER_API_KEY. Hedra /);
});
