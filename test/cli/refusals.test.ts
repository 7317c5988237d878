import { existsSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunDocument } from "../../src/index.ts";
import { cli, emptyFolder, root } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const avatar = join(root, "recipes/talking-avatar.ts");
const imageToVideo = join(root, "recipes/image-to-video.ts");

const mistakes = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("mistakes", {
  input: z.object({}),
  build({ job }) {
    const picture = job("picture", "image-1", { prompt: "a lamp" });
    const field = job("field", "image-1", { prompt: "a lamp", colour: "red" });
    const option = job("option", "image-1", { prompt: "a lamp", aspect_ratio: "2:1" });
    const kind = job("kind", "avatar-1", {
      start_image: picture, audio: picture, prompt: "talks", aspect_ratio: "9:16", resolution: "720p",
    });
    const retired = job("retired", "image-0", { prompt: "a lamp" });
    const missing = job("missing", "voice-clone-1", { name: "nobody" });
    return { field, option, kind, retired, missing };
  },
});
`;

/** Answers of the service so far, as "route status". */
async function requestsOf(service: Service): Promise<string[]> {
  return Object.keys((await service.stats()).requests);
}

describe("with a service of its own", () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService(["--stub", "--balance", "0"]);
  });

  afterAll(() => service?.stop());

  test("a plan with five different mistakes lists all five with step and field, and only reads were sent [G29]", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "mistakes.ts"), mistakes);
    for (const command of ["plan", "run"]) {
      const { code, stdout, stderr } = await cli(
        [command, "mistakes.ts", ...(command === "run" ? ["--budget", "9"] : [])],
        {
          cwd,
          env: service.env,
        },
      );
      expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("5 problems");
      for (const place of [
        /field {2}input\.colour:/,
        /option {2}input\.aspect_ratio:/,
        /kind {2}input\.audio:/,
        /retired {2}\S*model:.*image-1|retired.*image-1/,
        /missing {2}input\.audio:/,
      ]) {
        expect(stderr).toMatch(place);
      }
    }
    expect(
      (await requestsOf(service)).filter((route) => !route.startsWith("GET ") && !route.includes("estimate")),
    ).toEqual([]);
    const { code, stdout } = await cli(["plan", "mistakes.ts", "--json"], { cwd, env: service.env });
    expect(code).toBe(2);
    expect(JSON.parse(stdout).problems).toHaveLength(5);
  });

  test.each([
    [
      "a misspelt field of the input, which would otherwise be left out",
      ["run", imageToVideo, "-i", "scen=a kite", "--budget", "9"],
      {},
      "input.scen: the input has no such field; did you mean scene?",
    ],
    [
      "a price above the budget, with the command typed again",
      ["run", imageToVideo, "--start-anyway", "--budget", "0.01"],
      {},
      /Next: .* --start-anyway --budget \d+\.\d+\n/,
    ],
    ["a key that is not set", ["plan", imageToVideo], { SHOWRUNNER_API_KEY: "" }, "Next: export SHOWRUNNER_API_KEY="],
    [
      "an address without its end",
      ["plan", imageToVideo],
      { withoutEnd: "yes" },
      /check whether the base URL should be http:\S+\/v3\n/,
    ],
  ])(
    "%s is named, and what to type next",
    async (_what, args, { withoutEnd, ...env }: Record<string, string>, said) => {
      const address = service.env.SHOWRUNNER_BASE_URL!;
      const baseUrl = withoutEnd === undefined ? address : address.replace(/\/v3$/, "");
      const { code, stderr } = await cli(args, {
        cwd: emptyFolder(),
        env: { ...service.env, SHOWRUNNER_BASE_URL: baseUrl, ...env },
      });
      expect(code, stderr).toBe(2);
      expect(stderr).toMatch(said);
    },
  );

  test("a budget below the quote is refused with both amounts, before the first submit", async () => {
    const before = await service.stats();
    const { code, stderr } = await cli(["run", imageToVideo, "--budget", "0.03"], { env: service.env });
    expect(code, stderr).toBe(2);
    expect(stderr).toMatch(/0\.03\b/);
    expect(stderr.match(/\$?\d+\.\d\d/g)?.length).toBeGreaterThan(1);
    expect((await service.stats()).jobs_created).toBe(before.jobs_created);
  });

  test.each([
    ["an unknown run", ["show", "nobody", "--json"], "RUN_UNKNOWN"],
    ["a budget below the quote", ["run", imageToVideo, "--budget", "0.03", "--json"], "OVER_BUDGET"],
    ["an unknown flag", ["show", "nobody", "--json", "--bogus"], "USAGE"],
    ["a file that is not there", ["plan", "nowhere.ts", "--json"], "PIPELINE_FILE_MISSING"],
  ])("with --json, %s is a document on stdout with its code", async (_, args, code) => {
    const refused = await cli(args, { env: service.env });
    expect(refused.code, refused.stderr).toBe(2);
    expect(JSON.parse(refused.stdout)).toEqual({
      ok: false,
      code,
      message: expect.stringMatching(/./),
      next: expect.stringMatching(/./),
    });
  });

  test("an unknown flag is answered with the help of its command", async () => {
    expect((await cli(["run", imageToVideo, "--bogus"])).stderr).toContain("Next: showrunner run --help");
    expect((await cli(["bogus"])).stderr).toContain("Next: showrunner --help");
  });

  test("a run that costs real money needs a budget when there is no terminal to confirm it on", async () => {
    const { code, stderr } = await cli(["run", imageToVideo], {
      env: { ...service.env, SHOWRUNNER_SERVICE_KIND: "hosted" },
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/Next: .*--budget \d+\.\d\d/);
  });

  test("a short wallet refuses the start; told to start anyway it pauses the run, and after funding, resume completes it and repeats no paid step", async () => {
    const cwd = emptyFolder();
    const options = { cwd, env: service.env };
    await service.fund(0.02); // enough for the picture, not for the video
    const before = await service.stats();
    const refused = await cli(["run", imageToVideo, "--id", "poor", "--budget", "20", "--json"], options);
    expect(refused.code, refused.stderr).toBe(2);
    expect((await service.stats()).jobs_created).toBe(before.jobs_created);
    const anyway = ["run", imageToVideo, "--id", "poor", "--budget", "20", "--json", "--start-anyway"];
    const paused = await cli(anyway, options);
    expect(paused.code, paused.stderr).toBe(3);
    expect(paused.stderr).toContain("Next: showrunner resume poor");
    expect(JSON.parse(paused.stdout)).toMatchObject({
      status: "paused",
      pause: { reason: "funds", funding_url: expect.stringMatching(/^http/) },
    });
    const half = await service.stats();
    expect(half.jobs_created - before.jobs_created).toBe(1);
    await service.fund(100);
    const done = await cli(["resume", "poor"], options);
    expect(done.code, done.stderr).toBe(0);
    expect((await service.stats()).jobs_created - before.jobs_created).toBe(2);
    const report = JSON.parse((await cli(["show", "poor", "--json"], options)).stdout) as RunDocument;
    expect(report.steps.map(({ attempts }) => attempts.length)).toEqual([1, 1]);
  });

  test("an existing run id is refused with --on-existing fail, and the next command is named", async () => {
    const cwd = emptyFolder();
    writeFileSync(
      join(cwd, "p.ts"),
      'import { pipeline } from "showrunner"; import { z } from "zod"; export default pipeline("p", { input: z.object({}), build: ({ job }) => ({ x: job("x", "image-1", { prompt: "a bell" }) }) });',
    );
    await service.fund(10);
    const options = { cwd, env: service.env };
    expect((await cli(["run", "p.ts", "--id", "once", "--budget", "1"], options)).code).toBe(0);
    const again = await cli(["run", "p.ts", "--id", "once", "--on-existing", "fail"], options);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("Next: showrunner resume once");
  });

  test("an image that is none is refused before anything is paid", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "broken.png"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]));
    writeFileSync(
      join(cwd, "p.ts"),
      `import { file, pipeline } from "showrunner"; import { z } from "zod";
export default pipeline("p", {
  input: z.object({ picture: file("image") }),
  build({ input, job, upload }) {
    return { video: job("video", "video-1", { start_image: upload("picture", input.picture), prompt: "it turns", aspect_ratio: "16:9", duration_ms: 3000 }) };
  },
});`,
    );
    const before = await service.stats();
    const { code, stderr } = await cli(["run", "p.ts", "-i", "picture=broken.png", "--budget", "20"], {
      cwd,
      env: service.env,
    });
    expect(code, stderr).toBeGreaterThan(0);
    expect(stderr).toMatch(/picture/);
    expect((await service.stats()).jobs_created).toBe(before.jobs_created);
  });
});

describe("bad input", () => {
  test("that fails the pipeline's schema names the field, exit 2, and leaves no run", async () => {
    const cwd = emptyFolder();
    const { code, stderr } = await cli(["run", avatar, "--local", "-i", "script="], { cwd });
    expect(code, stderr).toBe(2);
    expect(stderr).toMatch(/script/);
    expect(JSON.parse((await cli(["runs", "--json"], { cwd })).stdout)).toEqual([]);
  });

  test("a sample that does not exist is named with its path", async () => {
    const { code, stderr } = await cli(["run", avatar, "--local", "-i", "sample=nowhere.wav"]);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain("nowhere.wav");
  });
});

describe("a journal that cannot be used", () => {
  test.each([
    [
      "is no database",
      (file: string) => writeFileSync(file, "just some text, long enough to be looked at as a header of a file"),
    ],
    ["is another program's database", (file: string) => makeDatabase(file, "CREATE TABLE cats (name TEXT)")],
    ["was written by a newer version", newerJournal],
  ])("one that %s: clear error, exit 2, file untouched", async (_what, make) => {
    const cwd = emptyFolder();
    const file = join(cwd, "j.db");
    await make(file);
    for (const args of [["runs"], ["run", imageToVideo, "--local"]]) {
      const { code, stdout, stderr } = await cli([...args, "--journal", file], { cwd });
      expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("j.db");
      expect(stderr).toMatch(/\nNext: \S/);
    }
  });
});

describe("serve", () => {
  test("on a port in use reports it, exit 2, and leaves no partial state", async () => {
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, "127.0.0.1", listening));
    const { port } = taken.address() as AddressInfo;
    const cwd = emptyFolder();
    const { code, stdout, stderr } = await cli(["serve", "--port", String(port)], { cwd });
    await new Promise((closed) => taken.close(closed));
    expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(String(port));
    expect(stderr).toContain("--port 0");
    const { code: again } = await cli(["balance"], { cwd });
    expect(again).toBe(0);
  });

  test.each([
    ["--port", "many"],
    ["--speed", "0"],
    ["--key", "nocolon"],
    ["--rate-limit", "x"],
    ["--retention", "soon"],
    ["--balance", "-1"],
  ])("%s %s is refused", async (flag, value) => {
    const { code, stderr } = await cli(["serve", `${flag}=${value}`]);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(flag);
  });
});

function makeDatabase(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

async function newerJournal(file: string): Promise<void> {
  const { openSqliteJournal } = await import("../../src/core/journal/sqlite.ts");
  await (await openSqliteJournal(file)).close();
  makeDatabase(file, "PRAGMA user_version = 999");
  expect(existsSync(file)).toBe(true);
}
