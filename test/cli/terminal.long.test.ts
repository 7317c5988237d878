import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cli, emptyFolder, root } from "./support/cli.ts";
import { startService } from "./support/service.ts";
import { openTerminal } from "./support/terminal.ts";

const recipe = join(root, "recipes/image-to-video.ts");
const longMs = 180_000;
const esc = "\u001b";

describe("on a terminal", () => {
  test(
    "a run is a tree that is redrawn in place, within the width, and ends with the files",
    async () => {
      const cwd = emptyFolder();
      await using terminal = openTerminal(["run", recipe, "--id", "t"], { cwd, columns: 60, rows: 30 });
      const running = await terminal.shows(/picture +(queued|[█░]+|rendering|pricing|submitting)/);
      expect(running).toMatch(/video +waiting/);
      expect(running).toMatch(/0\/2 steps +spent \$0\.00/);
      terminal.resize(50, 24);
      const ended = await terminal.shows(/exit 0/);
      expect(ended).toMatch(/succeeded: run t cost \$/);
      expect(ended.match(/picture +done/g)).toHaveLength(1);
    },
    longMs,
  );

  test(
    "Ctrl-C stops in good order, prints how to go on, and exits with 130; resume finishes",
    async () => {
      const cwd = emptyFolder();
      await using service = await startService(["--speed", "1"]);
      await using terminal = openTerminal(["run", recipe, "--id", "t", "--budget", "9"], {
        cwd,
        columns: 80,
        rows: 30,
        env: service.env,
      });
      await terminal.shows(/picture +(queued|[█░]+|rendering)/);
      terminal.press("C-c");
      const stopped = await terminal.shows(/exit 130/);
      expect(stopped).toMatch(/Next: showrunner resume t/);
      const { code, stderr } = await cli(["resume", "t"], { cwd, env: service.env });
      expect(code, stderr).toBe(0);
      expect((await service.stats()).jobs_created).toBe(2);
    },
    longMs,
  );

  test(
    "a run on a service that takes real money asks for a yes, and no means no",
    async () => {
      await using service = await startService();
      const cwd = emptyFolder();
      await using terminal = openTerminal(["run", recipe], { cwd, columns: 80, rows: 30, env: service.env });
      await terminal.shows(/Start, spending at most \$\d+\.\d+\? \[y\/N\]/);
      terminal.press("n", "Enter");
      expect(await terminal.shows(/exit 2/)).toContain("nothing was spent");
      expect((await service.stats()).jobs_created).toBe(0);
    },
    longMs,
  );

  test(
    "NO_COLOR is respected",
    async () => {
      const cwd = emptyFolder();
      for (const [env, coloured] of [
        [{}, true],
        [{ NO_COLOR: "1" }, false],
      ] as const) {
        await using terminal = openTerminal(["show", "none"], { cwd, columns: 80, rows: 10, env });
        await terminal.shows(/exit 2/);
        expect(terminal.screen({ colours: true }).includes(`${esc}[`)).toBe(coloured);
      }
    },
    longMs,
  );
});

describe("without a terminal", () => {
  test(
    "a run prints one calm line an event, nothing that moves a cursor, and only data on stdout",
    async () => {
      const { code, stdout, stderr } = await cli(["run", recipe, "--id", "t", "--local", "--json"]);
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        id: "t",
        status: "succeeded",
        pause: null,
        steps: [{ path: "picture" }, { path: "video" }],
      });
      expect(stderr).toContain("LOCAL SERVICE");
      expect(stderr).toMatch(/^picture: job job_/m);
      expect(stderr).not.toContain(esc);
    },
    longMs,
  );

  test(
    "SIGTERM stops in good order as well",
    async () => {
      const { startCli } = await import("./support/cli.ts");
      await using service = await startService(["--speed", "1"]);
      const cwd = emptyFolder();
      const { child, end } = startCli(["run", recipe, "--id", "t", "--budget", "9"], { cwd, env: service.env });
      await new Promise<void>((seen) => {
        let text = "";
        child.stderr?.on("data", (chunk: string) => {
          text += chunk;
          if (/picture: job job_/.test(text)) seen();
        });
      });
      child.kill("SIGTERM");
      const { code, stderr } = await end;
      expect(code).toBe(130);
      expect(stderr).toContain("Next: showrunner resume t");
      expect(stderr).toMatch(/picture is still running on the service as job_/);
    },
    longMs,
  );
});
