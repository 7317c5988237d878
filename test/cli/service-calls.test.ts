import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wireForm } from "../../src/cli/service/present.ts";
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
    expect(await json("estimate", "image-1", "-i", "prompt=a bell")).toMatchObject({ cost: "0.02", quotable: true });
    const { job_id: id } = await json("jobs", "submit", "image-1", "-i", "prompt=a bell", "--key", "k1", "--yes");
    const { stdout } = await cli(["jobs", "follow", id], { cwd, env: service.env });
    expect(stdout).toMatch(/completed: 1 output;/);
    expect(await json("jobs", "get", id)).toMatchObject({
      status: "COMPLETED",
      cost: "0.02",
      outputs: [{ width: expect.any(Number) }],
    });
    expect((await json("jobs", "list")).map((job: { job_id: string }) => job.job_id)).toEqual([id]);
    expect(await json("jobs", "status", id)).toMatchObject({ status: "COMPLETED" });
    expect((await json("jobs", "logs", id)).length).toBeGreaterThan(2);
    expect(await json("jobs", "submit", "image-1", "-i", "prompt=a bell", "--key", "k1", "--yes")).toMatchObject({
      job_id: id,
      replayed: true,
    });
    expect(await json("jobs", "delete", id)).toEqual({ ok: true });
    expect((await json("jobs", "get", id)).outputs[0].status).toBe("EXPIRED");
  });

  test("a paid call on such a service is refused when nobody can say yes", async () => {
    const { jobs_created: before } = await service.stats();
    const { code, stderr } = await cli(["jobs", "submit", "image-1", "-i", "prompt=x"], { cwd, env: service.env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/real money \(\$0\.02\)[\s\S]*Next: .*--yes/);
    expect((await service.stats()).jobs_created).toBe(before);
  });

  test("models are listed as a table and pulled as types", async () => {
    const { stdout } = await cli(["models", "list"], { cwd, env: service.env });
    expect(stdout).toMatch(/^id +modality +name/);
    expect(await json("models", "show", "video-1")).toHaveProperty("input_schema.additionalProperties", false);
    expect(await json("models", "pull", "--out", "m")).toEqual({ ok: true });
    expect(readFileSync(join(cwd, "m/models.ts"), "utf8")).toContain('"image-1"');
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

describe("the form that programs get", () => {
  test("is snake_case with decimal amounts, and leaves documents of others alone", () => {
    expect(
      wireForm({ jobId: "j", costMicros: 290_000, spentMicros: null, data: { aB: 1 }, outputs: [{ assetId: "a" }] }),
    ).toEqual({
      job_id: "j",
      cost: "0.29",
      spent: null,
      data: { aB: 1 },
      outputs: [{ asset_id: "a" }],
    });
  });
});
