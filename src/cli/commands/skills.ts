import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeDurably } from "../../core/kit/durable-file.ts";
import { shellWord } from "../../core/kit/shell-word.ts";
import { type CliError, ExitCode, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { refuseLinks, writeNew } from "../project/begun.ts";
import { visible } from "../text/escape.ts";

/** Within a folder of skills; it travels in the package under the same name. */
const SKILL = "showrunner/SKILL.md";

/** Where most coding agents look for the skills of a project. */
const FOLDER = ".claude/skills";

/** `showrunner skills install`: the skill by which a coding agent works with pipelines. Overwrites one that differs only with `--force`. */
export async function installSkills({ io, output }: Context, flags: Flags["skills install"]): Promise<ExitCode> {
  const { dir = FOLDER, force = false, json } = flags;
  const file = resolve(io.cwd, dir, SKILL);
  const skill = await readFile(new URL(`../skills/${SKILL}`, import.meta.url), "utf8");
  await refuseLinks(
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
  if (found === "the same") output.say("It is there already, and stays as it is");
  output.say(
    "Agents that look for skills in this folder load it when they start, once somebody asks for a pipeline or a film",
  );
  output.next("showrunner init   (a pipeline to begin with, where there is none)");
  return ExitCode.done;
}

function differs(path: string, { dir }: Flags["skills install"]): CliError {
  const where = dir === undefined ? "" : ` --dir ${shellWord(visible(dir))}`;
  return usageError(
    `${visible(path)} is there, differs from this version's skill, and is not overwritten`,
    `showrunner skills install${where} --force   (overwrites it, and what was changed in it)`,
  );
}
