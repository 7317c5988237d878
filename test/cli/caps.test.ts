import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { openShowrunner, pipeline } from "../../src/index.ts";
import { beginCli, cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const bell = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("bell", {
  input: z.object({}),
  build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
});
`;

const approved = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("approved", {
  input: z.object({}),
  build({ job, approve }) {
    const bell = approve("fine", job("bell", "image-1", { prompt: "a bell" }));
    return { tower: job("tower", "image-1", { prompt: "its tower", images: [bell] }) };
  },
});
`;

let service: Service;

beforeAll(async () => {
  service = await startService(["--stub", "--balance", "5"]);
});

afterAll(() => service?.stop());

function world(env: Readonly<Record<string, string>> = {}) {
  const options = { cwd: emptyFolder(), env: { ...service.env, ...env } };
  writeFileSync(join(options.cwd, "bell.ts"), bell);
  const run = (id: string, ...more: readonly string[]) =>
    cli(["run", "bell.ts", "--id", id, "--budget", "1", "--tag", "customer=acme", ...more], options);
  const json = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await cli([...args, "--json"], options);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  return { options, run, json };
}

describe("the command that continues a run keeps the limit that stopped it", () => {
  const zone = ["--cap-time-zone", "Asia/Kathmandu"];
  test.each([
    ["a cap of each customer", ["--cap", "customer=*:0.03/day"], "--cap 'customer=*:0.03/day'", "cap"],
    ["a cap of a customer", ["--cap", "customer=acme:0.03/day"], "--cap customer=acme:0.03/day", "cap"],
    ["a cap of all runs", ["--cap", "0.03/day"], "--cap 0.03/day", "cap"],
    ["the days of a time zone", ["--cap", "0.03/day", ...zone], `--cap 0.03/day ${zone.join(" ")}`, "cap"],
    ["a floor", ["--wallet-floor", "1000", "--start-anyway"], "--wallet-floor 1000.00", "funds"],
  ])("%s", async (_what, flags, kept, reason) => {
    const { options, run, json } = world();
    expect((await run("first")).code).toBe(0);
    const paused = await run("second", ...flags);
    expect(paused.code, paused.stderr).toBe(3);
    const { jobs_created: before } = await service.stats();

    const { command, note } = (await json("show", "second")).next;
    expect(command).toContain(` ${kept}`);
    const shown = await cli(["show", "second"], options);
    const listed = await cli(["runs"], options);
    for (const { stdout, stderr } of [shown, listed])
      expect(stdout + stderr).toContain(`${command}\n      (${note})\n`);

    const words = command.replaceAll("'", "").split(" ").slice(1);
    const waits = words.indexOf("--wait-for-funds");
    if (waits >= 0) words[waits + 1] = "0s";
    const again = await cli(words, options);
    expect(again.code, again.stderr).toBe(3);
    expect((await json("show", "second")).pause.reason).toBe(reason);
    expect((await service.stats()).jobs_created).toBe(before);
  });

  test("and the higher cap that the note names replaces a cap of the environment", async () => {
    const { options, run, json } = world({ SHOWRUNNER_CAPS: "customer=*:0.03/day" });
    await run("first");
    expect((await run("second")).code).toBe(3);
    const { note } = (await json("show", "second")).next;
    const higher = /set a higher cap: --cap '(.*)'$/.exec(note)?.[1] ?? "";
    const resumed = await cli(["resume", "second", "--cap", higher], options);
    expect(resumed.code, resumed.stderr).toBe(0);
  });
});

describe("a run that waits for a person keeps its caps", () => {
  const cap = "customer=acme:0.03";

  async function waiting() {
    const { options, json } = world();
    writeFileSync(join(options.cwd, "approved.ts"), approved);
    const tags = ["--tag", "customer=acme", "--cap", cap];
    const { code, stderr } = await cli(["run", "approved.ts", "--id", "r", "--budget", "1", ...tags], options);
    expect(code, stderr).toBe(3);
    return { options, json, stderr };
  }

  test("when the suggested command approves and resumes it", async () => {
    const { options, stderr } = await waiting();
    expect(stderr).toContain(`showrunner approve r fine --resume --cap ${cap}\n`);
    const resumed = await cli(["approve", "r", "fine", "--resume", "--cap", cap], options);
    expect(resumed.code).toBe(3);
    expect(resumed.stderr).toContain("of the cap of 0.03 USD");
  });

  test("when somebody approves it in a dashboard with these caps", async () => {
    const { options, json } = await waiting();
    const dashboard = beginCli(["dashboard", "--port", "0", "--cap", cap], options);
    const url = (await dashboard.printed).trim();
    const { origin } = new URL(url);
    const cookie = (await fetch(url)).headers.get("set-cookie")!.split(";")[0]!;
    const headers = { cookie, origin, "content-type": "application/json" };
    const body = JSON.stringify({ step: "fine", note: "", goOn: true });
    const { status } = await fetch(`${origin}/api/runs/r/approve`, { method: "POST", headers, body });
    expect(status).toBe(200);
    await expect.poll(async () => (await json("show", "r")).pause?.reason, { timeout: 20_000 }).toBe("budget");
    expect((await json("show", "r")).cost).toBe("0.02");
    await dashboard.stop();
  });
});

test("balance takes the caps that a run was started with", async () => {
  const { options, run } = world();
  await run("first", "--cap", "customer=acme:0.03");
  const { stderr } = await cli(["balance", "--cap", "customer=acme:0.03", "--spending-cap", "2"], options);
  expect(stderr).toContain("Runs in this journal: $0.02 spent, $0.00 reserved (cap: $2.00)\n");
  expect(stderr).toContain("Runs with customer=acme: $0.02 spent, $0.00 reserved (cap: $0.03)\n");
});

test("balance shows every cap, and its JSON has decimal amounts and ISO times", async () => {
  const { options, run, json } = world({ SHOWRUNNER_CAPS: "1/day,customer=*:0.5/day,team=*:3" });
  await run("first");
  const { stderr } = await cli(["balance"], options);
  expect(stderr).toMatch(/All runs until \S+Z: \$0\.02 spent, \$0\.00 reserved \(cap: \$1\.00\)\n/);
  expect(stderr).toContain("Runs with customer=*: cap of $0.50 a day for each value of the tag\n");
  expect(stderr).toContain("Runs with team=*: cap of $3.00 for each value of the tag\n");
  expect((await json("balance")).journal).toEqual({
    ...{ spent: "0.02", held: "0.00", cap: null, floor: null },
    caps: [
      {
        tag: null,
        cap: "1.00",
        spent: "0.02",
        held: "0.00",
        ends_at: expect.stringMatching(/^\d{4}-.*T00:00:00.000Z$/),
      },
    ],
    caps_per_value: [
      { tag: "customer=*", cap: "0.50", per: "day" },
      { tag: "team=*", cap: "3.00", per: null },
    ],
  });
});

test("a run that a worker continues when the cap allows it does not wait for anyone", async () => {
  const { options, run } = world();
  expect((await run("first")).code).toBe(0);
  const bells = pipeline("bell", {
    input: z.object({}),
    build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
  });
  const caps = [{ usd: "0.03", per: "day" }] as const;
  const show = await openShowrunner({
    baseUrl: service.baseUrl,
    apiKey: service.apiKey,
    caps,
    journal: join(options.cwd, ".showrunner/journal.db"),
  });
  await show.start(bells, {}, { id: "second", budget: "1" });
  const { driven, wakeAt } = await show.engine.slice("second", { findPipeline: async () => bells });
  await show.close();
  expect([driven?.pause, wakeAt]).toEqual(["cap", expect.any(Number)]);
  const { stdout, stderr } = await cli(["runs"], options);
  expect(stdout).toMatch(/second +paused/);
  expect(stderr).not.toContain("for you");
});

test("the JSON of a statement has decimal amounts", async () => {
  const { run, json } = world();
  await run("first");
  const { cost, amount, charged } = await json("statement", "--markup", "50%");
  expect([cost, amount]).toEqual(["0.02", "0.03"]);
  expect(charged).toMatchObject([{ run: "first", cost: "0.02", amount: "0.03" }]);
});
