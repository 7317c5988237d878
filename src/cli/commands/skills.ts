import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeDurably } from "../../core/kit/files.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { type CliError, ExitCode, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { refuseObstacles, writeNew } from "../project/begun.ts";
import { visible } from "../text/escape.ts";

const SKILL = "showrunner/SKILL.md";

/** The folder that most coding agents search for a project's skills. */
const FOLDER = ".claude/skills";

export async function installSkills({ io, output }: Context, flags: Flags["skills install"]): Promise<ExitCode> {
  const { dir = FOLDER, force = false, json } = flags;
  const file = resolve(io.cwd, dir, SKILL);
  const skill = await readFile(new URL(`../skills/${SKILL}`, import.meta.url), "utf8");
  await refuseObstacles(
    ...(flags.dir === undefined ? ([io.cwd, [join(dir, SKILL)]] as const) : ([resolve(io.cwd, dir), [SKILL]] as const)),
  );
  const found = await writeNew(file, skill);
  if (found === "kept") {
    if (!force) throw differs(join(dir, SKILL), flags);
    await writeDurably(file, skill);
  }
  const state = found === "kept" ? "overwritten" : found;
  if (json) output.printJson({ file, state });
  else output.print(visible(file));
  if (found === "the same") output.say("Already up to date");
  output.say(
    "Agents that read skills from this folder find the skill when they next start, and use it for pipelines and films",
  );
  output.next("showrunner init   (creates a starter pipeline)");
  return ExitCode.done;
}

function differs(path: string, { dir }: Flags["skills install"]): CliError {
  const where = dir === undefined ? "" : ` --dir ${shellWord(visible(dir))}`;
  return usageError(
    `${visible(path)} already exists and differs from this version's skill, so it was not overwritten`,
    `showrunner skills install${where} --force   (overwrites it, including your changes)`,
  );
}
