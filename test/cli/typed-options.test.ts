import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asTyped } from "../../src/cli/explain-error.ts";
import { InvalidOptionError } from "../../src/core/kit/errors.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";
import { beginCli, cli, emptyFolder } from "./support/cli.ts";

const PIPELINE = `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("one", {
  input: z.object({ words: z.string().default("a boat") }),
  build: ({ input, job }) => ({ still: job("still", "image-1", { prompt: input.words }) }),
});
`;

let service: LocalService;
let cwd: string;
const here = (...args: readonly string[]) =>
  cli(args, { cwd, env: { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey } });

beforeAll(async () => {
  cwd = await fastFolder("typed-options-");
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: join(cwd, "service") });
  await writeFile(join(cwd, "one.ts"), PIPELINE);
  await writeFile(join(cwd, "in.json"), '{"words": 5}');
  const { code, stderr } = await here("run", "one.ts", "--id", "r", "--budget", "5");
  expect(code, stderr).toBe(0);
});
afterAll(async () => {
  await service.close();
  await rm(cwd, { recursive: true, force: true });
});

test.each([
  [["run", "one.ts", "--cap", "5/week"], '--cap: "5/week" is not a cap; write it like'],
  [["dashboard", "--cap", "5/week"], '--cap: "5/week" is not a cap; write it like'],
  [["dashboard", "--spending-cap", "five"], "--spending-cap five is not an amount in US dollars"],
  [["run", "one.ts", "--tag", "1=2", "--budget", "1"], '--tag: "1" is not a valid tag key'],
  [["resume", "r", "--rerun-failed"], '--rerun-failed: no step of run "r" has failed'],
  [["resume", "r", "--rerun", "s"], '--rerun: run "r" has no step s'],
  [["resume", "r", "--request-id", "x"], "--request-id: can only be used with a rerun or an edit"],
  [["approve", "r", "still"], "argument step: still"],
  [["adopt", "r", "still", "none"], "argument step: still"],
])("the error of %j begins with what was typed", async (args, message) => {
  const { code, stderr } = await here(...args);
  expect(code, stderr).toBe(2);
  expect(stderr).toContain(message);
});

test.each([
  [["runs"]],
  [["show", "r"]],
  [["events", "r"]],
  [["open", "r", "still", "--print"]],
  [["report", "r"]],
  [["approve"]],
  [["stop", "r"]],
  [["gc", "--dry-run"]],
])("%j reads the journal without a key and without a request, also with an empty SHOWRUNNER_JOURNAL", async (args) => {
  const before = service.stats().requests;
  const at = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_JOURNAL: "" };
  for (const key of [{}, { SHOWRUNNER_API_KEY: service.apiKey }]) {
    const { code, stderr } = await cli(args, { cwd, env: { ...at, ...key } });
    expect(code, stderr).toBe(0);
  }
  expect(service.stats().requests).toEqual(before);
});

test("an option that a variable sets is named by the variable, and one without a flag keeps its name", () => {
  const env = { SHOWRUNNER_MEDIA: "s3://b" };
  const said = (option: string, args: readonly string[]) =>
    asTyped(new InvalidOptionError(option, "is wrong."), { env, args });
  expect(said("media", ["run"])).toBe("SHOWRUNNER_MEDIA: is wrong.");
  expect(said("media", ["run", "--media=s3://b"])).toBe("--media: is wrong.");
  expect(said("budgetTag", [])).toBe("budgetTag: is wrong.");
  expect(said("rerun", ["resume", "r", "--rerun-failed"])).toBe("--rerun-failed: is wrong.");
  expect(said("rerun", ["resume", "r", "--redo=s"])).toBe("--redo: is wrong.");
  expect(said("resume", ["resume", "r"])).toBe("is wrong.");
});

test("a budget for a run that has ended is said to change nothing, unless steps are made again", async () => {
  const said = "The run has already ended (succeeded), so --budget 9 has no effect.";
  const { code, stderr } = await here("resume", "r", "--budget", "9");
  expect(code, stderr).toBe(0);
  expect(stderr).toContain(said);
  const again = await here("resume", "r", "--budget", "9", "--rerun", "still", "--yes");
  expect(again.code, again.stderr).toBe(0);
  expect(again.stderr).not.toContain("has no effect");
});

test("a file name without @ is told how to be read, and its wrong field in plain words", async () => {
  const named = await here("plan", "one.ts", "--input", "in.json");
  expect(named.stderr).toContain("--input in.json is a file name, not JSON");
  expect(named.stderr).toContain("Next: to read the file: --input @in.json");
  const read = await here("plan", "one.ts", "--input", "@in.json");
  expect(read.stderr).toContain("input.words: must be text, not 5");
});

test("the dashboard says that its default port is in use, and which one it took", async () => {
  const taken = createServer().listen(8788, "127.0.0.1");
  // Another program may use the port, such as a dashboard on this machine.
  await once(taken, "listening").catch(() => {});
  const dashboard = beginCli(["dashboard", "--local"], { cwd: emptyFolder() });
  const { port } = new URL((await dashboard.printed).trim());
  const { stderr } = await dashboard.stop();
  taken.close();
  expect(stderr).toContain(`The default port 8788 is in use, so the dashboard uses port ${port}.`);
});

test.each<[Record<string, string>, readonly string[], string, string]>([
  [
    { SHOWRUNNER_BASE_URL: "htp://x/v3" },
    [],
    "SHOWRUNNER_BASE_URL must start with http:// or https://; got htp://.",
    "set SHOWRUNNER_BASE_URL to the service's v3 address",
  ],
  [
    { SHOWRUNNER_BASE_URL: "http://x/v2" },
    [],
    "SHOWRUNNER_BASE_URL http://x/v2 belongs to",
    "set SHOWRUNNER_BASE_URL to",
  ],
  [{}, ["--base-url", "host"], "--base-url is not a URL", "use the service's v3 address: --base-url https://host/v3"],
  [{ SHOWRUNNER_API_KEY: "a:b\nc" }, [], "SHOWRUNNER_API_KEY must be <key_id>:<secret>", "set SHOWRUNNER_API_KEY to"],
  [{ SHOWRUNNER_SPENDING_CAP: "1e-3" }, [], "SHOWRUNNER_SPENDING_CAP: ", "set SHOWRUNNER_SPENDING_CAP to an amount"],
  [
    { SHOWRUNNER_CAP_TIME_ZONE: "Mars" },
    [],
    "SHOWRUNNER_CAP_TIME_ZONE: ",
    "set SHOWRUNNER_CAP_TIME_ZONE to a time zone",
  ],
])("a wrong setting %j %j is named, and the next step is to set it", async (wrong, args, message, next) => {
  const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey, ...wrong };
  const { code, stderr } = await cli(["run", "one.ts", "--budget", "1", ...args], { cwd, env });
  expect(code, stderr).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr).toContain(`Next: ${next}`);
});

test("the doctor's credential line fails for a key that cannot be sent", async () => {
  const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: "a:b\nc" };
  const { code, stdout, stderr } = await cli(["doctor"], { cwd, env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/FAIL +credential +SHOWRUNNER_API_KEY must be/);
  expect(stderr).not.toContain("Next: showrunner doctor");
});
