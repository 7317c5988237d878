import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Context } from "../../src/cli/context.ts";
import { pipelinesIn } from "../../src/cli/load/pipeline-file.ts";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { cli } from "./support/cli.ts";

const cards = (build: string, name = "cards") => `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("${name}", {
  input: z.object({ text: z.string() }),
  build({ input, job, approve }) {
    ${build}
  },
});
`;
const AS_BEGUN = `const card = job("card", "image-1", { prompt: input.text });
    const logo = job("logo", "image-1", { prompt: "a logo" });
    return { fine: approve("fine", card), logo };`;

let service: LocalService;
let folder: string;
const env = () => ({ SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey });
/** Where the code is checked: a folder without the journal, media or account of the runs. */
const check = (...args: readonly string[]) => cli(["check", ...args, "--local"], { cwd: join(folder, "ci") });
const code = (text: string, name = "cards.ts") => writeFile(join(folder, "ci/pipelines", name), text);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "check-"));
  await mkdir(join(folder, "ci/pipelines"), { recursive: true });
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: join(folder, "service") });
  await writeFile(join(folder, "cards.ts"), cards(AS_BEGUN));
  await writeFile(join(folder, "done.ts"), cards(`return { one: job("one", "image-1", { prompt: "x" }) };`, "done"));
  const run = (...args: readonly string[]) => cli(["run", ...args, "--budget", "5"], { cwd: folder, env: env() });
  expect((await run("cards.ts", "-i", "text=hi", "--id", "c1")).code).toBe(3);
  expect((await run("done.ts", "-i", "text=hi", "--id", "d1")).code).toBe(0);
  await copyFile(join(folder, ".showrunner/journal.db"), join(folder, "ci/copy.db"));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

describe("check --against a copy of a journal of another account", () => {
  test("says that nothing is made again, and looks at no run that has ended", async () => {
    await code(cards(AS_BEGUN));
    await code(cards(`return { one: job("one", "image-1", { prompt: "another" }) };`, "done"), "done.ts");
    const { code: exit, stdout, stderr } = await check("--against", "copy.db", "pipelines");
    expect(exit, stderr).toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toContain("Nothing changes: 1 unfinished run would continue as planned.");
  });

  test("lists changed, new, dependent and gone steps with their price, spends nothing and writes nothing", async () => {
    await code(
      cards(`const card = job("card", "image-1", { prompt: input.text + "!" });
    const extra = job("extra", "image-1", { prompt: "x" });
    return { fine: approve("fine", card), extra };`),
    );
    const before = await readFile(join(folder, "ci/copy.db"));
    const jobs = service.stats().jobs_created;
    const { code: exit, stdout, stderr } = await check("--against", "copy.db", "pipelines/cards.ts", "--json");
    expect(exit, stderr).toBe(1);
    const { runs, others } = JSON.parse(stdout) as { runs: { steps: unknown[] }[]; others: number };
    expect(others).toBe(0);
    expect(runs).toMatchObject([{ id: "c1", pipeline: "cards", same: false, problems: [] }]);
    expect(runs[0]!.steps).toEqual([
      {
        path: "card",
        cause: "changed",
        cost: "0.02",
        fields: [{ field: "input.prompt", before: "hi", after: "hi!" }],
      },
      { path: "extra", cause: "new", cost: "0.02", fields: [] },
      { path: "fine", cause: "uses", cost: "0.00", fields: [] },
      { path: "logo", cause: "gone", cost: null, fields: [] },
    ]);
    expect(stderr).toContain("1 of 1 unfinished run would change: $0.04 to run the changed and new steps.");
    expect((await readFile(join(folder, "ci/copy.db"))).equals(before)).toBe(true);
    expect(service.stats().jobs_created).toBe(jobs);
    const said = await check("--against", "copy.db", "pipelines/cards.ts");
    expect(said.stdout).toMatch(
      /c1 \(cards, paused\)\n {2}\+ extra\n {2}- logo\n {2}~ card\n +input\.prompt: "hi" → "hi!"\n/,
    );
    expect(said.stdout).toMatch(/\ncard +image-1 +\$0\.02\n/);
  });

  test("another name of a step costs nothing and passes", async () => {
    await code(cards(AS_BEGUN.replace('job("logo"', 'job("mark"')));
    expect(await check("--against", "copy.db", "pipelines/cards.ts")).toMatchObject({ code: 0 });
  });

  test("code that can no longer take the run's input fails, with the field", async () => {
    await code(
      cards(AS_BEGUN.replace('"a logo"', '"a logo of " + input.size')).replace(
        "z.string() }",
        "z.string(), size: z.number() }",
      ),
    );
    const { code: exit, stdout } = await check("--against", "copy.db", "pipelines/cards.ts");
    expect(exit).toBe(1);
    expect(stdout).toMatch(/input {2}input\.size: is missing/);
  });

  test("runs of other pipelines are counted, and said to be unchecked", async () => {
    await code(cards(AS_BEGUN, "posters"));
    const { code: exit, stderr } = await check("--against", "copy.db", "pipelines/cards.ts");
    expect(exit, stderr).toBe(0);
    expect(stderr).toContain("These pipelines have no unfinished runs. Not checked: 1 run of other pipelines.");
  });
});

test.each([
  [["--against", "none.db", "pipelines"], "journal none.db does not exist"],
  [["--against", "postgres://host/db", "pipelines"], "--against needs a journal file, not a database"],
  [["--against", "copy.db", "none.ts"], "none.ts does not exist"],
  [["--against", "copy.db", "empty"], "No file in empty exports a pipeline"],
])("check %j says what is wrong, and makes nothing", async (args, message) => {
  await mkdir(join(folder, "ci/empty"), { recursive: true });
  const { code: exit, stderr } = await check(...args);
  expect(exit, stderr).toBe(2);
  expect(stderr).toContain(message);
});

test("a journal that this user may write to is opened for reading, and takes no write", async () => {
  const journal = await openSqliteJournal(join(folder, ".showrunner/journal.db"), { readOnly: true });
  expect(journal.isReadOnly).toBe(true);
  await expect(journal.send("c1", { type: "stop" }, 1)).rejects.toThrow(/read-only/);
  await journal.close();
});

test("a file that exports several pipelines stands for all of them; one whose name is taken is named and left out", async () => {
  const several = join(folder, "several");
  await mkdir(several);
  const one = (name: string) =>
    `pipeline("${name}", { input: z.object({}), build: ({ task }) => ({ t: task("t", {}, () => 1) }) })`;
  const head = 'import { pipeline } from "showrunner";\nimport { z } from "zod";\n';
  await writeFile(
    join(several, "a.ts"),
    `${head}export const ad = ${one("ad")};\nexport const cover = ${one("cover")};\nexport default ad;\n`,
  );
  await writeFile(
    join(several, "b.ts"),
    `${head}export const again = ${one("cover")};\nexport const story = ${one("story")};\n`,
  );
  await writeFile(join(several, "c.ts"), "export const models = [];\n");
  const notices: string[] = [];
  const context = { io: { cwd: folder }, output: { say: (text: string) => notices.push(text) } } as unknown as Context;
  const found = await pipelinesIn("several", context);
  expect(found.map(({ pipeline, exportName }) => [pipeline.name, exportName])).toEqual([
    ["ad", "ad"],
    ["cover", "cover"],
    ["story", "story"],
  ]);
  expect(notices).toEqual(["Skipped b.ts#again: a.ts already has a pipeline named cover"]);
});
