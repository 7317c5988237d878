import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toDocument } from "../../src/core/kit/document.ts";
import { PIXEL } from "../support/tiny-media.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

describe("calls of the API", () => {
  let service: Service;
  const cwd = emptyFolder();

  beforeAll(async () => {
    service = await startService(["--stub", "--balance", "5"]);
  });

  afterAll(() => service?.stop());

  async function json(...args: string[]) {
    const { code, stdout, stderr } = await cli([...args, "--json"], { cwd, env: service.env });
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  }

  test("a job is priced, submitted, followed, read, listed and deleted", async () => {
    const data = ["--data", '{"input": {"prompt": "a bell"}}'];
    expect(await json("api", "/models/image-1/estimate", ...data)).toMatchObject({ cost: 0.02 });
    const submit = ["api", "POST", "/models/image-1", ...data, "--idempotency-key", "k1", "--yes"];
    const { job_id: id } = await json(...submit);
    const { stdout } = await cli(["jobs", "follow", id], { cwd, env: service.env });
    expect(stdout).toMatch(/completed: 1 output;/);
    expect(await json("jobs", "get", id)).toMatchObject({
      status: "COMPLETED",
      cost: "0.02",
      outputs: [{ width: expect.any(Number) }],
    });
    expect((await json("jobs", "list")).map((job: { job_id: string }) => job.job_id)).toEqual([id]);
    expect((await json("api", `/jobs/${id}/logs`, "--query", "limit=2")).data).toHaveLength(2);
    expect(await json(...submit)).toMatchObject({ job_id: id });
    const { code, stdout: nothing } = await cli(["api", "DELETE", `jobs/${id}`], { cwd, env: service.env });
    expect([code, nothing]).toEqual([0, ""]);
    expect((await json("jobs", "get", id)).outputs[0].status).toBe("EXPIRED");
  });

  test.each([
    ["a submit", ["/models/image-1", "--data", '{"input":{"prompt":"x"}}'], "$0.02"],
    ["a chat", ["chat/completions", "--data", "{}"], "an unknown amount"],
    ["a post that this version does not know", ["POST", "/renders"], "an unknown amount"],
  ])("%s to such a service is refused when nobody can say yes", async (_name, args, price) => {
    const { jobs_created: before } = await service.stats();
    const { code, stderr } = await cli(["api", ...args], { cwd, env: service.env });
    expect(code).toBe(2);
    expect(stderr).toContain(`real money (${price})`);
    expect(stderr).toMatch(/Next: showrunner api .*--yes/);
    expect((await service.stats()).jobs_created).toBe(before);
  });

  test("models are listed as a table and pulled as types", async () => {
    const { stdout } = await cli(["models", "list"], { cwd, env: service.env });
    expect(stdout).toMatch(/^id +modality +name/);
    expect(await json("models", "show", "video-1")).toHaveProperty("input_schema.additionalProperties", false);
    expect(await json("models", "pull", "--out", "m")).toEqual({ ok: true });
    expect(readFileSync(join(cwd, "m/models.ts"), "utf8")).toContain('"image-1"');
  });

  test.each([
    ["models.ts", "export const models = { mine: 1 };\n"],
    ["catalog.json", '{ "name": "my shop" }'],
    ["catalog.json", '[{ "id": "shoe-1", "price": 5 }]'],
    ["catalog.json", "[truncated by somebody else"],
  ])("a pull overwrites no file of somebody else: %s of %s", async (name, mine) => {
    const out = emptyFolder();
    writeFileSync(join(out, name), mine);
    const { code, stderr } = await cli(["models", "pull"], { cwd: out, env: service.env });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} already exists and was not written by`)]);
    expect(stderr).toContain("Next: showrunner models pull --out FOLDER");
    const there = readdirSync(out).filter((one) => one !== ".showrunner");
    expect([there, readFileSync(join(out, name), "utf8")]).toEqual([[name], mine]);
  });

  test("a pull replaces its own files, also a damaged catalog, and says so", async () => {
    const pull = () => cli(["models", "pull"], { cwd: out, env: service.env });
    const out = emptyFolder();
    expect(await pull()).toMatchObject({ code: 0, stderr: expect.not.stringContaining("damaged") });
    const catalog = readFileSync(join(out, "catalog.json"), "utf8");
    expect(await pull()).toMatchObject({ code: 0, stderr: expect.not.stringContaining("damaged") });
    for (const damaged of [catalog.slice(0, 900), catalog.replace(/"modality": "\w+"/, '"modality": 7')]) {
      writeFileSync(join(out, "catalog.json"), damaged);
      expect(await pull()).toMatchObject({ code: 0, stderr: expect.stringContaining("was damaged and was replaced") });
      expect(readFileSync(join(out, "catalog.json"), "utf8")).toBe(catalog);
    }
  });

  test("voices are listed, and searched by name", async () => {
    expect((await json("models", "voices", "speech-1")).length).toBeGreaterThan(3);
    const found = await json("models", "voices", "speech-1", "--search", "sal", "--gender", "female");
    expect(found.map(({ name }: { name: string }) => name)).toEqual(["Sally"]);
  });

  test.each([
    [["--gender", "female"], ["Sally"]],
    [
      ["--gender", "male", "--limit", "2"],
      ["Robert", "Alan"],
    ],
    [["--language", "de"], []],
    [["--language", "EN", "--limit", "1"], ["Sally"]],
  ])("voices are filtered without a search too: %j", async (flags, names) => {
    const found = await json("models", "voices", "speech-1", ...flags);
    expect(found.map(({ name }: { name: string }) => name)).toEqual(names);
  });

  test.each([
    ["models", "list"],
    ["models", "voices", "speech-1"],
    ["models", "voices", "speech-1", "--search", "sal"],
    ["jobs", "list"],
  ])("a limit that is no number of entries is refused: %s %s", async (...command) => {
    for (const limit of ["abc", "0", "-1", "1.5", ""]) {
      const { code, stderr } = await cli([...command, `--limit=${limit}`], { cwd, env: service.env });
      expect([code, stderr]).toEqual([2, expect.stringContaining("is not a whole number from 1")]);
    }
  });

  test("a file is uploaded", async () => {
    writeFileSync(join(cwd, "dot.png"), PIXEL);
    expect(await json("files", "upload", "dot.png")).toMatchObject({ content_type: "image/png" });
  });

  test("an error of the service shows its code and what to do", async () => {
    const { code, stderr } = await cli(["jobs", "get", "job_none"], { cwd, env: service.env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/404 NOT_FOUND[\s\S]*\nNext: \S/);
  });

  test("a wrong key is named as such", async () => {
    const env = { ...service.env, SHOWRUNNER_API_KEY: "no:body" };
    const { code, stderr } = await cli(["balance"], { cwd, env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/UNAUTHORIZED[\s\S]*Next: check SHOWRUNNER_API_KEY/);
    expect(stderr).not.toContain("body");
  });
});

test("a document is snake_case with decimal amounts and ISO instants, and leaves data of others alone", () => {
  const job = { jobId: "j", costMicros: 290_000, spentMicros: null, isOpen: true, data: { aB: 1 }, tags: { aB: "1" } };
  const price = { totalMicros: { min: 0, max: null }, holdMicros: 20_000, runId: "r", since: 0, tookMs: 5 };
  expect(toDocument({ ...job, ...price, outputs: [{ assetId: "a", expiresAt: 0 }] })).toEqual({
    ...{ job_id: "j", cost: "0.29", spent: null, open: true, data: { aB: 1 }, tags: { aB: "1" } },
    ...{ total: { min: "0.00", max: null }, held: "0.02", run: "r", since: "1970-01-01T00:00:00.000Z", took_ms: 5 },
    outputs: [{ asset_id: "a", expires_at: "1970-01-01T00:00:00.000Z" }],
  });
});
