import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";
import { cli, emptyFolder } from "./support/cli.ts";

const PIPELINE = `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("cards", {
  input: z.object({ slogan: z.string().default("a boat") }),
  build: ({ input, job }) => ({ card: job("card", "image-1", { prompt: input.slogan }) }),
});
`;

let folder: string;
let service: LocalService;
beforeAll(async () => {
  folder = await fastFolder("run-each-refusals-");
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: join(folder, "service") });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

let cwd: string;
beforeEach(async () => {
  cwd = emptyFolder();
  await writeFile(join(cwd, "cards.ts"), PIPELINE);
});

const here = (...args: readonly string[]) =>
  cli(args, { cwd, env: { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey } });
const rows = (text: string, name = "rows.csv") => writeFile(join(cwd, name), text);
const each = (...more: readonly string[]) => here("run", "cards.ts", "--each", "rows.csv", "--budget", "1", ...more);

async function runsHere(): Promise<readonly { readonly id: string; readonly tags: Record<string, string> }[]> {
  return JSON.parse((await here("runs", "--json")).stdout);
}

const tooMany = Array.from({ length: 7 }, (_, at) => `tag:k${at}`).join(",");

test.each([
  ["name,slogan,tag:team\na,One,x\nb,Two,*\nc,Three,y\n", 'line 3, column tag:team: "*" is not a valid value'],
  ["slogan,tag:team\nOne,x\nTwo, x\nThree,\n", 'line 3, column tag:team: " x" is not a valid value'],
  ["slogan,tag:bad key\nOne,x\nTwo,y\n", 'lines 2, 3, column tag:bad key: "bad key" is not a valid tag key'],
  ["slogan,tag:\nOne,x\n", 'line 2, column tag:: "" is not a valid tag key'],
  [
    `slogan,${tooMany}\nOne,1,2,3,4,5,6,7\n`,
    "line 2: 9 tags are too many; a run can have at most 8. Showrunner itself adds 2 of these tags",
  ],
  ["slogan,tag:team\nOne,*\nTwo,x,y\n", 'line 2, column tag:team: "*" is not a valid value'],
])("plan and run list the tags of %j that no run can have, and start nothing", async (text, message) => {
  await rows(text);
  for (const end of [await here("plan", "cards.ts", "--each", "rows.csv"), await each()]) {
    expect([end.code, end.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(end.stderr).toMatch(/mistakes? in rows\.csv; nothing was started:/);
  }
  expect(await runsHere()).toEqual([]);
});

test.each([
  [["--tag", "team=*"], '--tag: "*" is not a valid value'],
  [["a", "b", "c", "d", "e", "f", "g"].flatMap((key) => ["--tag", `${key}=1`]), "--tag: 9 tags are too many"],
])("the tags for all rows, %j, are refused before a row starts", async (flags, message) => {
  await rows("slogan,#n\nOne,1\nTwo,2\n");
  const { code, stderr, stdout } = await each(...flags);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
  expect(stderr).not.toContain("started:");
  expect(await runsHere()).toEqual([]);
});

test("a row that cannot start after others have run leaves their summary and does not exit 2", async () => {
  await rows("slogan,#n\nOne,1\nTwo,2\nThree,3\n");
  const planned = JSON.parse((await here("plan", "cards.ts", "--each", "rows.csv", "--json")).stdout);
  await mkdir(join(cwd, "out"));
  await writeFile(join(cwd, "out", planned.rows[1].id), "a file where the row's folder belongs");
  const ended = await each("--at-once", "1");
  expect([ended.code, ended.stderr]).toEqual([3, expect.stringContaining("1 succeeded, 1 refused, 1 waiting")]);
  expect(ended.stderr).toContain("is not a folder");
  expect(ended.stderr).toContain("run cards.ts --each rows.csv --budget 1 --at-once 1");
  await rm(join(cwd, "out", planned.rows[1].id));
  expect((await each()).code).toBe(0);
  const first = planned.rows[0].id;
  await rm(join(cwd, ".showrunner"), { recursive: true });
  await rm(join(cwd, "out"), { recursive: true });
  await mkdir(join(cwd, "out"));
  await writeFile(join(cwd, "out", first), "nothing has started yet");
  const refused = await each("--at-once", "1");
  expect([refused.code, refused.stderr]).toEqual([2, expect.not.stringContaining("waiting")]);
});

test("at its end, the command names the list of the rows' runs", async () => {
  await rows("slogan,#n\nOne,1\nTwo,2\n");
  const { code, stderr } = await each();
  expect(code, stderr).toBe(0);
  const [, tag = ""] = /Next: showrunner runs --tag (batch-of=\S+)/.exec(stderr) ?? [];
  expect(JSON.parse((await here("runs", "--json", "--tag", tag)).stdout)).toHaveLength(2);
});

test.each([
  [["run", "--each", "rows.csv", "--quote", "q_1"], "--quote: a quote is for a single run"],
  [["run", "--each", "rows.csv", "--on-existing", "fail"], "--on-existing fail cannot be used with --each"],
  [["run", "--at-once", "2"], "--at-once has no effect without --each"],
  [["run", "--id-column", "sku"], "--id-column has no effect without --each"],
  [["plan", "--id-column", "sku"], "--id-column has no effect without --each"],
  [["run", "--delimiter", ";"], "--delimiter has no effect without a table file"],
  [["run", "--encoding", "utf-8", "-i", "slogan=@x.json"], "--encoding has no effect without a table file"],
  [["plan", "--delimiter", ";"], "--delimiter has no effect without a table file"],
  [["resume", "--encoding", "utf-8"], "--encoding has no effect without a table file"],
  [["run", "--each", "rows.jsonl", "--delimiter", ";"], "--delimiter has no effect on JSON lines"],
  [["run", "--tag", "a=1", "--tag", "a=2"], "--tag: a has two values, 1 and 2"],
  [["run", "--each", "rows.csv", "--tag", "a=1", "--tag", "a=2"], "--tag: a has two values, 1 and 2"],
])("%j is refused at once, because a flag would be ignored", async ([command = "", ...flags], message) => {
  await rows("slogan\nOne\n");
  await rows('{"slogan":"One"}\n', "rows.jsonl");
  const { code, stderr } = await here(command, "cards.ts", ...(command === "plan" ? [] : ["--budget", "1"]), ...flags);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(stderr).not.toMatch(/cost \$|started/);
  expect(existsSync(join(cwd, "out"))).toBe(false);
});

test("a flag for tables is read where there is a table, and a tag given twice alike is one tag", async () => {
  await rows("slogan|#n\nOne|1\n");
  const all = await each("--delimiter", "|", "--encoding", "utf-8", "--tag", "a=1", "--tag", "a=1");
  expect(all.code, all.stderr).toBe(0);
  await rows('{"slogan":"Two"}\n', "rows.jsonl");
  const lines = await here("run", "cards.ts", "--each", "rows.jsonl", "--budget", "1", "--encoding", "utf-8");
  expect(lines.code, lines.stderr).toBe(0);
  expect((await runsHere()).map(({ tags }) => tags.a)).toContain("1");
});

test("--start-anyway starts rows although the wallet is empty; without it none starts", async () => {
  const poor = await startLocalService({ renderer: "stub", speed: 50, balance: 0, dataDir: join(folder, "poor") });
  const env = { SHOWRUNNER_BASE_URL: poor.baseUrl, SHOWRUNNER_API_KEY: poor.apiKey };
  const started = (...more: readonly string[]) =>
    cli(["run", "cards.ts", "--each", "rows.csv", "--budget", "1", ...more], { cwd, env });
  await rows("slogan\nOne\n");
  expect((await started()).stdout).toMatch(/\trefused\t/);
  expect(await started("--start-anyway")).toMatchObject({ code: 3, stdout: expect.stringMatching(/\tpaused\t/) });
  await poor.close();
});
