import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { changeWindow, fieldLines } from "../../src/cli/report/comparison.ts";
import { nextLines } from "../../src/cli/text/next-line.ts";
import { counted } from "../../src/cli/text/table.ts";
import { checkInput, inputMistake } from "../../src/core/define/errors.ts";
import { PipelineDefinitionError } from "../../src/core/define/index.ts";
import { COMMANDS, withLauncher } from "../../src/core/kit/launcher.ts";
import { pipeline } from "../../src/index.ts";
import { type CliEnd, cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const code = (prompt: string) =>
  `import { pipeline } from "showrunner"; import { z } from "zod"; export default pipeline("p", { input: z.object({}), build: ({ job }) => ({ x: job("x", "image-1", { prompt: ${JSON.stringify(prompt)} }) }) });`;
const light = "a lighthouse above the harbour at dawn, seen from the pier, in studio light";

describe("messages", () => {
  let service: Service;
  let cwd: string;
  const here = (...args: string[]): Promise<CliEnd> => cli(args, { cwd, env: service.env });
  const write = (prompt: string) => writeFileSync(join(cwd, "p.ts"), code(prompt));

  beforeAll(async () => {
    service = await startService(["--stub"]);
    cwd = emptyFolder();
    write(light);
    const { code: exit, stderr } = await here("run", "p.ts", "--id", "harbour", "--budget", "1");
    expect(exit, stderr).toBe(0);
  });
  afterAll(() => service.stop());

  test("drift shows the part of a long text that changed", async () => {
    write(`${light}, with gulls`);
    const { stderr } = await here("resume", "harbour", "--file", "p.ts");
    expect(stderr).toMatch(/input\.prompt: "?…[^→]*in studio light" → "?…[^→]*in studio light, with gulls"/);
    expect(stderr).toContain("Next: showrunner resume harbour --file p.ts --accept-changes --yes\n");
    write(light);
  });

  test("an estimate of a field that the model does not have names the field", async () => {
    const input = '{"input":{"promt":"a bell"}}';
    const { code: exit, stderr } = await here("api", "/models/image-1/estimate", "--data", input);
    expect(exit).toBe(1);
    expect(stderr).toMatch(/\n {2}input(\.promt|\.prompt)?: (?!input)/);
    expect(stderr).toContain("promt");
    expect(stderr).toContain(
      "Next: correct the fields above; `showrunner models show MODEL` lists what a model accepts\n",
    );
  });

  test("a model that is not there is told with those that are like it", async () => {
    const { stderr } = await here("models", "show", "image");
    expect(stderr).toMatch(/Model image does not exist; did you mean image-1/);
    expect(stderr).toContain("Next: showrunner models show image-1\n");
  });

  test("a run that is not there is told with those that are like it", async () => {
    const { stderr } = await here("show", "harbor");
    expect(stderr).toContain("Did you mean harbour?");
    expect(stderr).toContain("Next: showrunner runs\n");
  });

  test("an id that cannot be one is told with one that can, and never with the doctor", async () => {
    const { code: exit, stderr } = await here("run", "p.ts", "--id", "my first film!", "--budget", "1");
    expect(exit).toBe(2);
    expect(stderr).toContain("such as my-first-film");
    expect(stderr).not.toContain("doctor");
  });

  test("a misspelt name of a concurrency limit is refused with the right one", async () => {
    const { code: exit, stderr } = await here("plan", "p.ts", "--concurrency", "immage=1");
    expect(exit).toBe(2);
    expect(stderr).toContain("immage matches no job in this plan; did you mean image");
  });

  test("what a command suggests reaches the journal that it was told to use itself", async () => {
    mkdirSync(join(cwd, "my runs"));
    const journal = ["--journal", "my runs/j.db"];
    const ran = await here("run", "p.ts", "--id", "there", "--budget", "1", ...journal);
    expect(ran.stderr).toContain("Next: showrunner report there --journal 'my runs/j.db'\n");
  });
});

describe("parts of messages", () => {
  test("a change window contains the first difference of two texts, within its width", () => {
    const [a, b] = [`${"x".repeat(100)}one${"y".repeat(100)}`, `${"x".repeat(100)}two${"y".repeat(100)}`];
    const shown = changeWindow(a, b, 40);
    expect(shown[0]).toContain("xone");
    expect(shown[1]).toContain("xtwo");
    for (const text of shown) expect(text.length).toBeLessThanOrEqual(40);
    expect(changeWindow("short", "shorter", 40)).toEqual(["short", "shorter"]);
    expect(fieldLines([{ field: "a", before: undefined, after: "b" }])).toEqual(['a: nothing → "b"']);
  });

  test("one is singular", () => {
    expect([counted(1, "large file"), counted(2, "large file"), counted(1, "body", "bodies")]).toEqual([
      "1 large file",
      "2 large files",
      "1 body",
    ]);
  });

  test("a remark is printed below the command, and a command of npx is started by npx", () => {
    const npx = { launcher: "npx showrunner", flags: ["--local"] };
    expect(nextLines("showrunner show x   (its steps)", npx)).toEqual(["npx showrunner show x --local", "(its steps)"]);
    expect(nextLines("showrunner init film.ts", npx)).toEqual(["npx showrunner init film.ts"]);
    expect(nextLines("showrunner run --help", npx)).toEqual(["npx showrunner run --help"]);
    expect(nextLines("correct the file and try again", npx)).toEqual(["correct the file and try again"]);
  });

  test("in a project's own installation every command of a message starts with npx, and other words stay", () => {
    const said = (text: string) => withLauncher(text, "npx showrunner");
    for (const name of COMMANDS) expect(said(`why: showrunner ${name} x`)).toBe(`why: npx showrunner ${name} x`);
    expect(said("`showrunner plan` and (showrunner --help), or so does showrunner worker.")).toBe(
      "`npx showrunner plan` and (npx showrunner --help), or so does npx showrunner worker.",
    );
    const others = ["npx showrunner runs", "npm i showrunner zod", "/srv/showrunner run/a.png", "showrunner runs/x"];
    for (const text of [...others, "showrunner only reads it"]) expect(said(text)).toBe(text);
    expect(withLauncher("showrunner runs", "showrunner")).toBe("showrunner runs");
  });

  test("a wrong field of the input is said with what was expected and given, and a message of the schema's own stays", () => {
    const schema = z.object({ rows: z.array(z.object({ look: z.string(), size: z.number({ error: "how large?" }) })) });
    const input = { rows: [{}] };
    expect(checkInput(schema, input).error?.issues.map(inputMistake)).toEqual([
      { field: "input.rows[0].look", message: "is missing; give text" },
      { field: "input.rows[0].size", message: "how large?" },
    ]);
    const shapes = [z.object({ as: z.literal("a") }), z.object({ as: z.literal("b") })] as const;
    expect(checkInput(z.discriminatedUnion("as", shapes), { as: "c" }).error?.issues.map(inputMistake)).toEqual([
      { field: "input.as", message: '"c" is not one of a, b' },
    ]);
  });

  test.each<[z.ZodType, unknown, string]>([
    [z.string(), 5, "must be text, not 5"],
    [z.number(), "5", "must be a number, not text"],
    [z.int(), 2.5, "must be a whole number, not 2.5"],
    [z.record(z.string(), z.string()), ["a"], "must be an object, not a list"],
    [z.date(), true, "must be a value of type date, not true or false"],
    [z.enum(["wide", "tall"]), "wid", '"wid" is not one of wide, tall; did you mean wide?'],
    [z.enum(["wide", "tall"]), undefined, "is missing; use one of wide, tall"],
    [z.literal("wide"), null, "must be wide, not null"],
    [z.string().min(3), "ab", "has 2 characters; at least 3 are needed"],
    [z.array(z.string()).max(1), ["a", "b"], "has 2 items; at most 1 are allowed"],
    [z.string().length(2), "a", "has 1 character; exactly 2 are needed"],
    [z.number().min(2), 1, "must be at least 2, not 1"],
    [z.number().lt(2), 2, "must be less than 2, not 2"],
    [z.number().multipleOf(5), 7, "must be a multiple of 5, not 7"],
    [z.string().startsWith("a"), "b", 'must start with "a"; got "b"'],
    [z.string().includes("a"), "b", 'must contain "a"; got "b"'],
    [z.string().regex(/a/), "b", 'must match the pattern /a/; got "b"'],
    [z.url(), "b", '"b" is not a valid URL'],
    [z.strictObject({}), { a: 1, b: 2 }, 'does not accept the fields "a", "b"'],
    [z.union([z.string(), z.number()]), true, "true is not a valid value"],
    [z.union([z.string(), z.number()]), undefined, "is missing"],
    [z.custom(() => false), 3, "3 is not a valid value"],
    [z.string().refine(() => false, "Invalid input: write more"), "b", "Invalid input: write more"],
  ])("an input of the schema %# is refused in plain words: %o", (schema, input, message) => {
    expect(checkInput(schema, input).error?.issues.map(inputMistake)).toEqual([{ field: "input", message }]);
  });

  test("a definition that is none names the line of whoever wrote it", () => {
    const define = () => pipeline("bad name!", {} as never);
    expect(define).toThrow(PipelineDefinitionError);
    expect(define).toThrow(/\(at .*messages\.test\.ts:\d+:\d+\)/);
  });
});
