import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const esc = "\u001b";

/** Three takes, one to be picked by a person, and a gate before the film. */
function pipelineFile(folder: string, name: string, motion: string): string {
  const path = join(folder, name);
  writeFileSync(
    path,
    `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("takes", {
  input: z.object({}),
  build({ job, approve, choose }) {
    const looks = job("looks", "image-1", { prompt: "a quay", num_outputs: 3 });
    const best = choose("best", looks.outputs(), { by: "person", message: "Which quay? \\u001b[2J" });
    const film = job("film", "video-1", { start_image: best, prompt: ${JSON.stringify(motion)}, aspect_ratio: "16:9", resolution: "720p", duration_ms: 3000 });
    return { film: approve("fine", film, { message: "Show it?" }) };
  },
});
`,
  );
  return path;
}

let service: Service;
const cwd = emptyFolder();
const file = pipelineFile(cwd, "takes.ts", "go");
const cliHere = (...args: readonly string[]) => cli(args, { cwd, env: service.env });

beforeAll(async () => {
  service = await startService(["--stub"]);
  const { code, stderr } = await cliHere("run", file, "--budget", "5", "--id", "t");
  expect(code, stderr).toBe(3);
  expect(stderr).toContain("Next: showrunner approve t best --pick 1 --resume\n");
});
afterAll(() => service.stop());

describe("decisions of a person, on the command line", () => {
  test("what waits is listed with what it shows and where to review it", async () => {
    const { code, stdout, stderr } = await cliHere("approve", "t", "--json");
    expect(code).toBe(3);
    const [waiting] = JSON.parse(stdout) as readonly {
      readonly step: string;
      readonly choose: boolean;
      readonly shows: readonly { readonly pick: number; readonly path: string }[];
    }[];
    expect(waiting).toMatchObject({ step: "best", choose: true });
    expect(waiting?.shows.map(({ pick, path }) => [pick, existsSync(path)])).toEqual([
      [1, true],
      [2, true],
      [3, true],
    ]);
    expect(stderr).not.toContain(esc);
    expect(stderr).toContain("Which quay? \\u001b[2J");
    expect(waiting?.shows.every(({ path }) => path.endsWith(".png"))).toBe(true);
    expect(stderr).toContain("Next: showrunner approve t best --pick 1 --resume\n");
  });

  test.each([
    [["approve", "t", "best"], "best asks for a choice"],
    [["approve", "t", "best", "--pick", "9"], "--pick: best does not show 9"],
    [["approve", "t", "best", "--pick", "0"], "--pick: best does not show 0"],
    [["approve", "t", "best", "--pick", "looks"], "--pick: looks has several outputs"],
    [["approve", "t", "best", "--pick", "two"], "--pick: best does not show two"],
    [["approve", "t", "--pick", "9"], "--pick: best does not show 9"],
    [["approve", "t", "nothing"], "has no step nothing"],
    [["reject", "t", "film"], "film"],
  ])("%j is refused, with the command that lists what waits", async (args, message) => {
    const { code, stderr } = await cliHere(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/\nNext: \S/);
  });

  test("a pick of the only step that waits needs no name; it is stored, and reports that no process drives the run", async () => {
    const { code, stdout, stderr } = await cliHere("approve", "t", "--pick", "3", "--note", "the calm one", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      id: "t",
      step: "best",
      approved: true,
      pick: 3,
      note: "the calm one",
      status: "paused",
    });
    expect(stderr).toMatch(
      /No process is driving the run, so the decision takes effect when the run is resumed[\s\S]*Next: showrunner resume t/,
    );
  });

  test("the run continues to the next gate, and --resume continues at once", async () => {
    const resumed = await cliHere("resume", "t");
    expect(resumed.code).toBe(3);
    expect(resumed.stderr).toContain("best: chose output 2 of looks");
    const approved = await cliHere("approve", "t", "fine", "--resume");
    expect(approved.code, approved.stderr).toBe(0);
    expect(existsSync(join(cwd, "out/t/film.mp4"))).toBe(true);
    expect((await service.stats()).jobs_created).toBe(2);
  });

  test("nothing waits any more", async () => {
    const { code, stderr } = await cliHere("approve", "t");
    expect(code).toBe(0);
    expect(stderr).toContain("Run t has no step waiting for a decision.");
  });
});

describe("changed code, on the command line", () => {
  const changed = pipelineFile(cwd, "changed.ts", "stay");

  test.each([
    ["planned from other code", (): unknown => pipelineFile(cwd, "takes.ts", "stay")],
    ["broken", (): unknown => writeFileSync(file, "export default syntax error")],
    ["planned from other code in vain", (): unknown => pipelineFile(cwd, "takes.ts", "")],
    ["as it was", (): unknown => pipelineFile(cwd, "takes.ts", "go")],
  ])("a plain resume of a run without functions says so where its file is %s", async (what, edit) => {
    edit();
    const { code, stderr } = await cliHere("resume", "t");
    expect(code, stderr).toBe(0);
    const said = expect.stringContaining(
      "The pipeline has changed since the run was planned; the run continues with the old plan. To apply the changes: showrunner resume t --accept-changes",
    );
    expect(stderr).toEqual(what === "as it was" ? expect.not.stringContaining("changed") : said);
    expect((await service.stats()).jobs_created).toBe(2);
  });

  test("changes and their price are shown, and nothing is spent", async () => {
    const { code, stderr } = await cliHere("resume", "t", "--file", changed);
    expect(code).toBe(3);
    expect(stderr).toMatch(/~ film\n {6}input\.prompt: "go" → "stay"/);
    expect(stderr).toMatch(/To rerun: 2 steps, \$0\.18, in addition to \$0\.24 of the \$5\.00 budget already spent/);
    expect(stderr).toContain("--accept-changes");
    expect((await service.stats()).jobs_created).toBe(2);
  });

  test("taking it up needs a yes where money is real", async () => {
    const { code, stderr } = await cliHere("resume", "t", "--file", changed, "--accept-changes");
    expect(code).toBe(2);
    expect(stderr).toMatch(/spends real money, but you cannot confirm this without a terminal[\s\S]*Next: .*--yes/);
    expect((await service.stats()).jobs_created).toBe(2);
  });

  test("with a yes, changed steps and their dependents rerun, no others", async () => {
    const { code, stderr } = await cliHere("resume", "t", "--file", changed, "--accept-changes", "--yes");
    expect(code, stderr).toBe(3);
    expect(stderr).toContain("film: runs again");
    expect((await service.stats()).jobs_by_model).toMatchObject({ "image-1": 1, "video-1": 2 });
    expect((await cliHere("reject", "t", "fine", "--note", "too dark", "--resume")).code).toBe(1);
  });

  test("a step reruns on demand, with its price first", async () => {
    const asked = await cliHere("resume", "t", "--rerun", "film");
    expect(asked.code).toBe(2);
    expect(asked.stderr).toMatch(/To rerun: 2 steps, \$0\.18/);
    const again = await cliHere("resume", "t", "--rerun", "film", "--yes");
    expect(again.code, again.stderr).toBe(3);
    expect((await service.stats()).jobs_by_model).toMatchObject({ "video-1": 3 });
  });

  test("--accept-changes without a file takes the run's own file", async () => {
    const { code, stderr } = await cliHere("resume", "t", "--accept-changes", "--yes");
    expect(code, stderr).toBe(3);
    expect(stderr).not.toContain("error");
    expect(stderr).toContain("Next: showrunner approve t ");
  });
});

test("an approval of a result that another step has chosen shows that result's file", async () => {
  const passed = join(cwd, "passed.ts");
  writeFileSync(
    passed,
    `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("passed", {
input: z.object({}),
build: ({ takes, approve }) => ({
  fine: approve("fine", takes("looks", "image-1", { prompt: "a quay" }, { count: 2, choose: ({ index }) => index })),
}),
});
`,
  );
  expect((await cliHere("run", passed, "--budget", "5", "--id", "p")).code).toBe(3);
  const [waiting] = JSON.parse((await cliHere("approve", "p", "--json")).stdout);
  expect(waiting.shows).toMatchObject([{ pick: 1, step: "looks/2", index: 0, content_type: "image/png" }]);
  expect(existsSync(waiting.shows[0].path)).toBe(true);
  expect((await cliHere("open", "p", "fine", "--print")).stdout).toBe(`${waiting.shows[0].path}\n`);
  expect((await cliHere("reject", "p", "fine")).code).toBe(0);
});
