import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeDurably } from "../../core/kit/files.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { type CliError, ExitCode, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import {
  askService,
  type Begun,
  exists,
  gitIgnores,
  isThere,
  refuseObstacles,
  tsconfig,
  writeNew,
} from "../project/begun.ts";
import { chooseStarter, LOCAL_STARTER, starterSource } from "../project/choose-models.ts";
import { manifestFor, NOT_READABLE, type Project } from "../project/manifest.ts";
import { visible } from "../text/escape.ts";

export async function init(context: Context, given?: string, flags: Flags["init"] = {}): Promise<ExitCode> {
  const { recipe } = flags;
  if (recipe === true) return (await import("./init-recipe.ts")).printRecipes(context, flags);
  if (recipe === undefined) return writeBegun(context, await beginStarter(context, given), flags);
  if (given !== undefined) {
    const next = `showrunner init --recipe ${shellWord(visible(recipe))}`;
    throw usageError("--recipe cannot be combined with a file name: the recipe keeps its own name", next);
  }
  return writeBegun(context, await (await import("./init-recipe.ts")).beginRecipe(context, recipe), flags);
}

async function beginStarter(context: Context, given?: string): Promise<Begun> {
  const { cwd } = context.io;
  if (given !== undefined && !/\.m?ts$/.test(given)) {
    throw usageError(`${visible(given)} is not a TypeScript file name`, "showrunner init film.ts");
  }
  const project = await manifestFor(join(cwd, "package.json"));
  const file = given ?? (project.isEsm ? "film.ts" : "film.mts");
  if (await isThere(resolve(cwd, file))) throw exists(file);
  const { found, said } = await askService(context, chooseStarter);
  const isReadable = project.manifest !== "unreadable";
  const isWrongKind = isReadable && !project.isEsm && !file.endsWith(".mts");
  return {
    file,
    project,
    isHosted: found !== null,
    files: new Map([[file, starterSource(found ?? LOCAL_STARTER)]]),
    said: [
      said,
      ...(isReadable ? [] : [`${NOT_READABLE}, so it was left unchanged`]),
      ...(isWrongKind
        ? [`package.json lacks "type": "module": add it, or rename the file to ${visible(file).replace(/ts$/, "mts")}`]
        : []),
    ],
  };
}

async function writeBegun(
  { io, output }: Context,
  { file, files, project, said, isHosted }: Begun,
  flags: Flags["init"],
): Promise<ExitCode> {
  const at = (path: string) => resolve(io.cwd, path);
  const kept: string[] = [];
  await refuseObstacles(io.cwd, [...files.keys(), "package.json", ".gitignore", "tsconfig.json"]);
  for (const [path, text] of files) if ((await writeNew(at(path), text)) === "kept") kept.push(path);
  await project.write();
  const ignored = await gitIgnores(at(".gitignore"));
  const isTyped = (await writeNew(at("tsconfig.json"), tsconfig(project))) !== "written";
  if (flags.json) {
    output.printJson({
      file: at(file),
      package_json: project.manifest,
      added: project.added,
      kept,
      gitignore: ignored.length === 0 ? "unchanged" : "added",
      tsconfig: isTyped ? "unchanged" : "written",
    });
  } else output.print(visible(at(file)));
  for (const line of [...said, ...changes(project)]) output.say(line);
  for (const path of kept) output.say(`${visible(path)} exists and was left unchanged`);
  const what = ".showrunner/ contains the journal, media and local service data; out/ contains the results of runs";
  if (ignored.length > 0) output.say(`.gitignore now excludes ${ignored.join(", ")} (${what})`);
  if (!isTyped) output.say("tsconfig.json is for your editor; Showrunner does not need it");
  const name = shellWord(visible(file));
  output.next(
    ...installCommands(project),
    `showrunner plan ${name}   (checks and prices it; spends nothing)`,
    isHosted
      ? `showrunner run ${name} --budget 1   (spends real money, at most this amount)`
      : `showrunner run ${name} --local   (generates small real media on this machine, with play money)`,
  );
  return ExitCode.done;
}

function changes({ manifest, added, isNowEsm }: Project): readonly string[] {
  const lines: string[] = [];
  if (added.length > 0)
    lines.push(`${manifest === "written" ? "Created" : "Updated"} package.json with ${added.join(", ")}`);
  if (isNowEsm && manifest !== "written")
    lines.push('package.json now has "type": "module", because pipelines are ES modules');
  return lines;
}

function installCommands({ manifest, added, lacking }: Project): readonly string[] {
  if (manifest === "unreadable") return ["correct package.json, then: showrunner init another.ts"];
  if (lacking.length > 0) return ["npm i CLONE/packed/*.tgz   (npm run pack creates them in a clone of Showrunner)"];
  return added.length > 0 ? ["npm install   (installs the packages in package.json)"] : [];
}

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
  if (found === "unchanged") output.say("Already up to date");
  output.say(
    "Agents that read skills from this folder find the skill when they next start, and use it for pipelines and videos",
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
