import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { blocksOf } from "../docs/support/code-blocks.ts";
import { cli, emptyFolder, root } from "./support/cli.ts";
import { Stranger } from "./support/stranger.ts";

/** Many processes one after the other, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

const PLACE = ".claude/skills/showrunner/SKILL.md";
const ours = readFileSync(join(root, "src/cli/skills/showrunner/SKILL.md"), "utf8");

describe("skills install", () => {
  test("writes the skill, keeps it where it is alike, and overwrites another only with --force", async () => {
    const cwd = emptyFolder();
    const file = join(cwd, PLACE);
    const first = await cli(["skills", "install", "--json"], { cwd });
    expect(first.code, first.stderr).toBe(0);
    expect(JSON.parse(first.stdout)).toEqual({ file, state: "written" });
    expect(readFileSync(file, "utf8")).toBe(ours);
    const again = await cli(["skills", "install"], { cwd });
    expect(again).toMatchObject({ code: 0, stdout: `${file}\n` });
    expect(again.stderr).toMatch(/Already up to date[\s\S]*^Next: showrunner init$/m);
    writeFileSync(file, "mine");
    const refused = await cli(["skills", "install"], { cwd });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/SKILL\.md already exists [\s\S]*^Next: showrunner skills install --force$/m);
    expect(readFileSync(file, "utf8")).toBe("mine");
    const forced = await cli(["skills", "install", "--force", "--json"], { cwd });
    expect(JSON.parse(forced.stdout)).toEqual({ file, state: "overwritten" });
    expect(readFileSync(file, "utf8")).toBe(ours);
  });

  test("writes into the folder that is given, and names it in what to type", async () => {
    const cwd = emptyFolder();
    const dir = ["--dir", "my agent/skills"];
    expect((await cli(["skills", "install", ...dir], { cwd })).code).toBe(0);
    const file = join(cwd, "my agent/skills/showrunner/SKILL.md");
    expect(readFileSync(file, "utf8")).toBe(ours);
    writeFileSync(file, "mine");
    const refused = await cli(["skills", "install", ...dir], { cwd });
    expect(refused.stderr).toContain("Next: showrunner skills install --dir 'my agent/skills' --force\n");
  });

  test("is short, and its front matter is what agents look for", () => {
    expect(ours.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(700);
    const [, name, description = ""] = /^---\nname: (.+)\ndescription: (.+)\n---\n/.exec(ours) ?? [];
    expect(name).toBe("showrunner");
    // A colon and a space would begin another field of YAML.
    expect(description).toMatch(/^[^:#]{50,1024}$/);
  });
});

/** An agent that does what the skill says, line by line, and expects of each what the skill says. */
describe("an agent that follows the skill", () => {
  let agent: Stranger;
  let skill: string;

  beforeAll(async () => {
    agent = await Stranger.arrives();
    await agent.types("showrunner skills install", 0);
    skill = readFileSync(join(agent.cwd, PLACE), "utf8");
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  /** The blocks below a heading, in a language. */
  function blocks(heading: string, language: string): readonly string[] {
    const [, section = ""] = skill.split(`\n## ${heading}\n`);
    const found = blocksOf(PLACE, section.split("\n## ")[0]!).filter((block) => block.language === language);
    expect(found, heading).not.toEqual([]);
    return found.map(({ code }) => code);
  }

  /** Types every line of a block: exit code 0, unless its comment says another. */
  async function follow(block: string, as: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const line of block.trim().split("\n")) {
      const here = line.replace(/^npx /, "").replace(/\b(?:RUN|STEP|JOB)\b/g, (word) => as[word] ?? word);
      expect(here).toMatch(/^showrunner /);
      await agent.types(here, Number(/ # exit (\d+)/.exec(line)?.[1] ?? 0));
    }
  }

  const jobs = () => agent.service.stats().jobs_by_model;

  test("begins, writes the pipeline and rehearses it on this machine, and nothing reaches the service", async () => {
    await follow(blocks("Begin", "sh")[0]!);
    const [source = ""] = blocks("Write", "ts");
    writeFileSync(join(agent.cwd, "clip.ts"), source);
    await follow(blocks("Rehearse", "sh")[0]!);
    expect(agent.service.stats().jobs_created).toBe(0);
  });

  test("prices it on the service, runs it within the budget, and passes on the decision", async () => {
    await follow(blocks("Run", "sh")[0]!);
    expect(jobs()).toEqual({ "image-1": 1, "video-1": 1 });
    expect(readFileSync(join(agent.cwd, "out/clip-1/film.mp4")).length).toBeGreaterThan(0);
  });

  test("continues a run whose process was killed while it submitted, and pays nothing twice", async () => {
    let close = () => {};
    agent.trouble = (method, path) => {
      if (method !== "POST" || !path.endsWith("/models/video-1")) return "none";
      close();
      return "cut after";
    };
    await agent.types("showrunner run first.ts --id killed --budget 1", null, (shell) => {
      close = () => shell.kill();
    });
    agent.trouble = () => "none";
    await follow(blocks("Repair", "sh")[0]!, { RUN: "killed" });
    expect(jobs()).toEqual({ "image-1": 2, "video-1": 2 });
  });

  test("adopts the job of a submit that was never answered, and pays nothing twice", async () => {
    const route = "POST /models/{model}";
    agent.service.faults([
      { kind: "drop", when: "after", route, model: "video-1", count: 1 },
      { kind: "error", code: "INVALID_ARGUMENT", route, model: "video-1", skip: 1, count: 1 },
    ]);
    await agent.types("showrunner run first.ts --id unanswered --budget 1", 3);
    expect(agent.screen).toContain("unresolved");
    const [, adopting = ""] = blocks("Repair", "sh");
    const [list = "", ...others] = adopting.split(/(?<=\n)/);
    await follow(list, { RUN: "unanswered", STEP: "film" });
    const JOB = agent.copies(/Next: showrunner adopt unanswered film (\S+)/);
    await follow(others.join(""), { RUN: "unanswered", STEP: "film", JOB });
    expect(jobs()).toEqual({ "image-1": 3, "video-1": 3 });
  });

  test("prices another attempt of a step that failed before it buys it", async () => {
    agent.service.faults([{ kind: "fail_job", model: "video-1", retryable: false, count: 1 }]);
    await agent.types("showrunner run first.ts --id failed --budget 1", 3);
    const [price = "", buy = ""] = blocks("Repair", "sh")[2]!.split(/(?<=\n)/);
    await follow(price, { RUN: "failed" });
    expect(agent.screen).toContain("To rerun: ");
    expect(jobs()).toEqual({ "image-1": 4, "video-1": 4 });
    await follow(buy, { RUN: "failed" });
    expect(jobs()).toEqual({ "image-1": 4, "video-1": 5 });
  });
});
