import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
const cwd = emptyFolder();
const cliHere = (...args: readonly string[]) => cli(args, { cwd, env: service.env });

beforeAll(async () => {
  service = await startService(["--stub"]);
});
afterAll(() => service.stop());

test("models score counts what a person chose, and not before", async () => {
  writeFileSync(
    join(cwd, "look.ts"),
    `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("look", {
  input: z.object({}),
  build({ compare }) {
    return {
      look: compare("look", {
        picture: (b) => b.job("picture", "image-1", { prompt: "a quay" }),
        drawn: (b) => b.job("base", "image-1", { prompt: "a quay", quality: "pro" }),
      }),
    };
  },
});
`,
  );
  const run = await cliHere("run", "look.ts", "--budget", "5", "--id", "t");
  expect(run.code, run.stderr).toBe(3);
  const before = await cliHere("models", "score");
  expect(before).toMatchObject({ code: 0, stdout: "" });
  expect(before.stderr).toContain("No comparison was decided yet: ");
  expect(before.stderr).toContain("Next: showrunner approve\n");
  const decided = await cliHere("approve", "t", "look/pick", "--pick", "2", "--resume");
  expect(decided.code, decided.stderr).toBe(0);
  const { code, stdout } = await cliHere("models", "score");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /model +chosen +made nothing +cost +mean +took, mean\nimage-1 +1 of 2 +0 +\$0\.08 +\$0\.04 +\d/,
  );
  const { stdout: json } = await cliHere("models", "score", "--json", "--pipeline", "look");
  const mean_seconds: unknown = expect.any(Number);
  const counts = { models: ["image-1"], compared: 2, chosen: 1, made_nothing: 0 };
  expect(JSON.parse(json)).toEqual([{ ...counts, cost: "0.08", mean_cost: "0.04", mean_seconds }]);
  const other = await cliHere("models", "score", "--json", "--pipeline", "other");
  expect(JSON.parse(other.stdout)).toEqual([]);
  expect(other.stderr).toContain("No comparison was decided in these runs: ");
});
