import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ownCommand } from "../support/own-command.ts";
import { cli, emptyFolder, root } from "./support/cli.ts";
import { startService } from "./support/service.ts";
import { openTerminal } from "./support/terminal.ts";

const recipe = join(root, "recipes/image-to-video.ts");
const longMs = 180_000;

describe("on a terminal", () => {
  test(
    "a detached run outlives the terminal that it was started from",
    async () => {
      const cwd = emptyFolder();
      await using service = await startService(["--speed", "2"]);
      {
        const args = ["run", recipe, "--id", "d", "--budget", "2", "--detach"];
        await using terminal = openTerminal(args, { cwd, columns: 80, rows: 30, env: service.env });
        const shown = await terminal.shows(/exit 0/);
        expect(shown).toMatch(/Run d continues in process \d+/);
      }
      const { stdout, code } = await cli(["events", "d", "--follow"], { cwd, env: service.env });
      expect(code).toBe(0);
      expect(stdout).toContain("run succeeded");
    },
    longMs,
  );

  test(
    "bash completes commands and flags when the tabulator is pressed",
    async () => {
      const cwd = emptyFolder();
      const script = join(cwd, "completion.bash");
      const { stdout } = await cli(["completion", "bash"]);
      const command = `showrunner() { "${process.execPath}" "${ownCommand}" "$@"; }`;
      writeFileSync(script, `${stdout}${command}\nPS1="ready: "\n`);
      await using terminal = openTerminal(["--noprofile", "--rcfile", script, "-i"], {
        cwd,
        columns: 100,
        rows: 20,
        program: ["bash"],
      });
      await terminal.shows(/ready:/);
      terminal.press("showrunner jobs foll", "Tab");
      await terminal.shows(/showrunner jobs follow\s/);
      terminal.press("--jo", "Tab");
      await terminal.shows(/showrunner jobs follow --journal\s/);
    },
    longMs,
  );

  test(
    "a run that waits for a person says so in its tree, and what to type, in a narrow window",
    async () => {
      const cwd = emptyFolder();
      const file = join(cwd, "gate.ts");
      writeFileSync(
        file,
        `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("gate", {
  input: z.object({}),
  build({ job, approve }) {
    return { face: approve("fine", job("face", "image-1", { prompt: "a quay" }), { message: "Show it?" }) };
  },
});
`,
      );
      await using service = await startService(["--stub"]);
      const args = ["run", file, "--id", "g", "--budget", "1"];
      await using terminal = openTerminal(args, { cwd, columns: 44, rows: 40, env: service.env });
      const shown = await terminal.shows(/exit 3/);
      expect(shown).toMatch(/\? +fine +asking you/);
      expect(shown.replaceAll("\n", "")).toContain("showrunner approve g fine --resume");
      for (const line of shown.split("\n")) expect([...line].length).toBeLessThanOrEqual(44);
    },
    longMs,
  );
});
