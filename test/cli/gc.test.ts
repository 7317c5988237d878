import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const bell = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("bell", {
  input: z.object({}),
  build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
});
`;

describe("gc", () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService(["--stub", "--balance", "5"]);
  });

  afterAll(() => service?.stop());

  test("lists what would be removed, then removes it; the returned file stays", async () => {
    const options = { cwd: emptyFolder(), env: service.env };
    writeFileSync(join(options.cwd, "bell.ts"), bell);
    const run = await cli(["run", "bell.ts", "--id", "x", "--budget", "1"], options);
    expect(run.code, run.stderr).toBe(0);
    const returned = run.stdout.trim().split("\t")[1] ?? "";
    const media = join(options.cwd, ".showrunner/media");
    const files = () =>
      readdirSync(media, { recursive: true, encoding: "utf8" }).filter((name) => /[0-9a-f]{64}/.test(name));
    expect(files()).toHaveLength(1);
    for (const name of files()) utimesSync(join(media, name), 1, 1);

    const nothing = await cli(["gc"], options);
    expect(nothing.stderr).toContain("Removed 0 runs and 0 media files");
    const dry = await cli(["gc", "--older-than", "0s", "--dry-run"], options);
    expect(dry).toMatchObject({ code: 0, stdout: "x\n" });
    expect(dry.stderr).toMatch(/Would remove 1 run and 1 media file, \d[\s\S]*Next: showrunner gc --older-than/);
    expect(files()).toHaveLength(1);

    const wet = await cli(["gc", "--older-than", "0s", "--json"], options);
    expect(JSON.parse(wet.stdout)).toMatchObject({ dry_run: false, runs: ["x"], skipped: [], media: { count: 1 } });
    expect(files()).toEqual([]);
    expect(existsSync(returned)).toBe(true);
    expect((await cli(["show", "x"], options)).code).toBe(2);
  });

  test("refuses an age that is none", async () => {
    const { code, stderr } = await cli(["gc", "--older-than", "old"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Next: write it as --older-than 90s, 10m, 2h or 7d");
  });
});
