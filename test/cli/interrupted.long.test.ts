import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openShowrunner } from "../../src/index.ts";
import { cli, emptyFolder, root, startCli } from "./support/cli.ts";
import { viewJournal } from "./support/journal.ts";
import { type Service, startService } from "./support/service.ts";

const recipe = join(root, "recipes/image-to-video.ts");
const longMs = 180_000;

describe("a run whose process was killed with kill -9", () => {
  let service: Service;
  let cwd: string;
  const here = (...args: string[]) => cli(args, { cwd, env: service.env });

  beforeAll(async () => {
    service = await startService(["--speed", "1", "--stub"]);
    cwd = emptyFolder();
    const { child, end } = startCli(["run", recipe, "--id", "film", "--budget", "9"], { cwd, env: service.env });
    await using journal = await viewJournal(join(cwd, ".showrunner/journal.db"), end);
    await journal.reached("film", 6, end);
    child.kill("SIGKILL");
    await end;
  }, longMs);
  afterAll(() => service.stop());

  test(
    "is listed as interrupted, under what waits for a person, with the command that goes on",
    async () => {
      const listed = await here("runs");
      expect(listed.stdout).toMatch(/film +interrupted .*image-to-video/);
      expect(listed.stderr).toMatch(/1 run is waiting for you:\n +film {2}interrupted\nNext: showrunner resume film\n/);
      expect(JSON.parse((await here("runs", "--json")).stdout)).toMatchObject([{ id: "film", status: "interrupted" }]);
    },
    longMs,
  );

  test(
    "show says so, and names the command that goes on",
    async () => {
      const shown = await here("show", "film");
      expect(shown.stdout).toMatch(/film {2}image-to-video {2}interrupted/);
      expect(shown.stderr).toContain("Next: showrunner resume film\n");
      expect(JSON.parse((await here("show", "film", "--json")).stdout)).toMatchObject({
        status: "interrupted",
        finished_at: null,
        next: { command: "showrunner resume film" },
      });
    },
    longMs,
  );

  test(
    "the report says so, with the command",
    async () => {
      const { stdout } = await here("report", "film");
      const page = readFileSync(stdout.trim(), "utf8");
      expect(page).toContain("<title>image-to-video · interrupted · film</title>");
      expect(page).toContain('"command":"showrunner resume film"');
    },
    longMs,
  );

  test(
    "the library says so too",
    async () => {
      const [baseUrl, apiKey] = [service.baseUrl, service.apiKey];
      const show = await openShowrunner({ baseUrl, apiKey, journal: join(cwd, ".showrunner/journal.db") });
      try {
        expect(await show.runs()).toMatchObject([{ runId: "film", status: "interrupted" }]);
        expect(await show.show("film")).toMatchObject({ status: "interrupted" });
      } finally {
        await show.close();
      }
    },
    longMs,
  );

  test(
    "the command goes on without paying twice",
    async () => {
      const resumed = await here("resume", "film");
      expect(resumed.code, resumed.stderr).toBe(0);
      expect((await service.stats()).jobs_created).toBe(2);
      expect(existsSync(join(cwd, "out/film"))).toBe(true);
      expect((await here("runs")).stdout).toMatch(/film +succeeded .*image-to-video/);
      const stopped = await here("stop", "film");
      expect(stopped.stderr).toBe(
        "Run film has already ended (succeeded); nothing was stopped.\nNext: showrunner show film\n",
      );
    },
    longMs,
  );
});
