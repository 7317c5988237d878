import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliEnd, emptyFolder } from "./support/cli.ts";
import { openShell, type Shell, suggestionsOf } from "./support/paste.ts";
import { type Service, startService } from "./support/service.ts";

const head = 'import { pipeline } from "showrunner"; import { z } from "zod";\n';
const file = (input: string, build: string) =>
  `${head}export default pipeline("p", { input: z.object({ ${input} }), build({ input, job, task, takes, approve, expand, chat }) { ${build} } });\n`;
const still = (more = "") => `job("still", "image-1", { prompt: "a bell"${more} })`;
const task = (body: string) => `task("sum", { of: 1 }, () => { ${body} })`;

const files: Readonly<Record<string, string>> = {
  "plain.ts": file(
    'colour: z.string().default("red")',
    `return { still: job("still", "image-1", { prompt: input.colour }) };`,
  ),
  "changed.ts": file(
    'colour: z.string().default("red")',
    `return { still: job("still", "image-1", { prompt: "now " + input.colour }) };`,
  ),
  "failing task.ts": file("", `const sum = ${task('throw new Error("no sum")')}; return { sum };`),
  "choice.ts": file(
    "",
    `return { look: takes("look", "image-1", { prompt: "a fox" }, { count: 2, choose: "person" }) };`,
  ),
  "text.ts": file(
    "",
    `const words = ${task('return "a text to judge"')}; const ok = approve("ok", words); return { words: ok, still: ${still()} };`,
  ),
  "grown.ts": file(
    "",
    `const list = task("list", {}, () => ["a"]); return { all: expand("all", list, () => { throw new Error("builder"); }, { maxSteps: 3, yields: "image" }) };`,
  ),
};

/** Commands that lead to an end, and what the last one suggests is pasted. `code`: how the last one ends. */
const endings: readonly (readonly [name: string, commands: readonly string[], code: number])[] = [
  ["a run that succeeded", ["run plain.ts --id done --budget 1"], 0],
  ["a plan", ["plan plain.ts -i 'colour=deep blue'"], 0],
  ["a run without a budget", ["run plain.ts --id free"], 2],
  ["a run above its budget", ["run plain.ts --id dear --budget 0.001"], 2],
  ["a task that failed", ["run 'failing task.ts' --id task --budget 1"], 1],
  ["an expansion that failed", ["run grown.ts --id grown --budget 1"], 1],
  ["takes to choose from", ["run choice.ts --id choice --budget 1"], 3],
  ["the list of what waits", ["run choice.ts --id listed --budget 1", "approve listed"], 3],
  ["an approval without its pick", ["run choice.ts --id unpicked --budget 1", "approve unpicked look"], 2],
  ["a text to judge", ["run text.ts --id text --budget 1", "approve text"], 3],
  ["a decision that was noted", ["run text.ts --id noted --budget 1", "approve noted ok"], 0],
  ["changed code", ["run plain.ts --id drift --budget 1", "resume drift --file changed.ts"], 3],
  ["a corrected input", ["run plain.ts --id fix --budget 1", "resume fix -i 'colour=dark green'"], 3],
  [
    "the same id with another input",
    ["run plain.ts --id twice --budget 1", "run plain.ts --id twice -i colour=blue"],
    2,
  ],
  ["a rerun that costs", ["run plain.ts --id again --budget 1", "resume again --rerun still"], 2],
  ["a rerun above the budget", ["run plain.ts --id more --budget 0.03", "resume more --rerun still --yes"], 2],
  ["a step that is not there", ["run plain.ts --id step --budget 1", "open step stil"], 2],
  ["a run that is not there", ["show don"], 2],
  ["the list of runs", ["runs"], 0],
  ["a journal elsewhere", ["run plain.ts --id away --budget 1 --journal 'my runs/j.db'"], 0],
];

const serving = /^showrunner (dashboard|serve)|--follow/;

describe("what is suggested works when it is pasted, after", () => {
  let service: Service;
  let cwd: string;
  let paste: Shell["paste"];

  beforeAll(async () => {
    service = await startService(["--stub"]);
    cwd = emptyFolder();
    mkdirSync(join(cwd, "my runs"));
    ({ paste } = openShell(cwd, () => service.env));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  }, 60_000);
  afterAll(() => service.stop());

  test.each(endings)(
    "%s",
    async (_name, commands, code) => {
      let last: CliEnd = { code: 0, stdout: "", stderr: "" };
      for (const command of commands) last = await paste(`showrunner ${command}`);
      expect(last.code, last.stderr).toBe(code);
      if (code === 3 && commands.at(-1) === "approve text") expect(last.stdout).toContain("| a text to judge");
      const suggested = suggestionsOf(last.stderr);
      expect(suggested.length, last.stderr).toBeGreaterThan(0);
      for (const line of suggested.filter((one) => !serving.test(one))) {
        const end = await paste(line);
        expect(end.stderr, line).not.toMatch(
          /unknown (option|command)|missing required|too many arguments|Syntax error|unexpected error:/,
        );
        // It went on, or says clearly why not and what then.
        const continues = end.code === 0 || /\nNext: \S/.test(end.stderr);
        expect(continues, `${line}\n${end.stderr}`).toBe(true);
      }
    },
    120_000,
  );
});
