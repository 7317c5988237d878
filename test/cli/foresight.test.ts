import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forecastLines } from "../../src/cli/report/price-table.ts";
import { cli, emptyFolder, root } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const recipe = join(root, "recipes/image-to-video.ts");
let service: Service;
const cwd = emptyFolder();
beforeAll(async () => {
  service = await startService(["--stub"]);
  const { code, stderr } = await cli(["run", recipe, "--budget", "2", "--id", "first"], { cwd, env: service.env });
  expect(code, stderr).toBe(0);
});
afterAll(() => service.stop());

const plan = (...args: readonly string[]) => cli(["plan", recipe, ...args], { cwd, env: service.env });

describe("plan foretells", () => {
  test("about how long it takes, by earlier runs", async () => {
    const { stdout } = await plan();
    expect(stdout).toMatch(/Expected to take about \d/);
  });

  test("no time before the models have run here", async () => {
    const { stdout } = await cli(["plan", recipe], { cwd: emptyFolder(), env: service.env });
    expect(stdout).toContain("No time estimate yet");
  });

  test("the same in one document with --json", async () => {
    const { stdout } = await plan("--json", "--concurrency", "1");
    expect(JSON.parse(stdout)).toMatchObject({ expected_ms: expect.any(Number), risks: [] });
  });

  test("of what may have expired only what somebody must act on", () => {
    const risk = { step: "film", uses: "old", why: "film waits for \u001b[2Jlong", heals: false };
    const lines = forecastLines({ forecastMs: 41 * 60_000, risks: [risk, { ...risk, heals: true }] });
    expect(lines).toEqual([
      "Expected to take about 41 min 00 s",
      "An output may expire before it is used: film waits for \\u001b[2Jlong; that output would have to be generated and paid for again",
    ]);
  });

  test("a limit that is none is refused", async () => {
    const { code, stderr } = await plan("--rate-limit", "many");
    expect(code).toBe(2);
    expect(stderr).toContain("--rate-limit 600/60");
  });
});

describe("plan --against", () => {
  test("a run: what changed, and what the steps that would rerun cost", async () => {
    const { stdout } = await plan("--against", "first", "-i", "motion=faster");
    expect(stdout).toMatch(/Differences from first:\n {2}~ video\n {6}input\.prompt: .* → "faster"/);
    expect(stdout).toMatch(/1 unchanged; 1 to run, for \$0\.18/);
    expect((await plan("--against", "first")).stdout).toContain("No differences from first.");
  });

  test("another file, in one document", async () => {
    const { stdout } = await plan("--against", join(root, "recipes/talking-avatar.ts"), "--json");
    const { against } = JSON.parse(stdout) as {
      readonly against: { readonly diff: { readonly added: readonly string[]; readonly removed: readonly string[] } };
    };
    expect(against.diff.added).toEqual(["picture"]);
    expect(against.diff.removed).toContain("voice");
  });

  test("a run that is not there is refused", async () => {
    const { code, stderr } = await plan("--against", "nowhere");
    expect(code).toBe(2);
    expect(stderr).toContain("showrunner runs");
  });
});

describe("models diff", () => {
  test("lists what a new catalog changes, and the pipelines that it breaks", async () => {
    const folder = emptyFolder();
    const options = { cwd: folder, env: service.env };
    await cli(["models", "pull"], options);
    const file = join(folder, "catalog.json");
    const now = readFileSync(file, "utf8");
    expect((await cli(["models", "diff", recipe], options)).code).toBe(0);
    writeFileSync(file, now.replaceAll('"video-1"', '"video-0"'));
    const gone = await cli(["models", "diff", recipe, "--json"], options);
    expect(gone.code).toBe(1);
    const { changes, pipelines } = JSON.parse(gone.stdout) as {
      readonly changes: readonly object[];
      readonly pipelines: readonly object[];
    };
    expect(changes).toContainEqual({
      model: "video-0",
      field: null,
      breaking: true,
      message: "is no longer listed",
    });
    expect(pipelines).toEqual([{ file: recipe, ok: true, problems: [] }]);
    const other = join(folder, "old.ts");
    writeFileSync(
      other,
      `import { pipeline } from "showrunner"; import { z } from "zod";
export default pipeline("old", { input: z.object({}), build: ({ job }) => ({ film: job("film", "video-0", { prompt: "x" }) }) });`,
    );
    const broken = await cli(["models", "diff", other], options);
    expect(broken.stdout).toMatch(/BREAKS {2}is no longer listed[\s\S]*BROKEN {2}.*old\.ts\n {2}film {2}model/);
  });

  test("without a snapshot, shows how to get one", async () => {
    const { code, stderr } = await cli(["models", "diff"], { env: service.env });
    expect(code).toBe(2);
    expect(stderr).toContain("Next: showrunner models pull");
  });
});
