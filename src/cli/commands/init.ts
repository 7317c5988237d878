import { readFileSync } from "node:fs";
import { lstat, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseService } from "../../core/kit/deployments.ts";
import { writeDurably } from "../../core/kit/files.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import type { Catalog, Showrunner } from "../../index.ts";
import { type CliError, usageError } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { kindOf } from "../input/named-file.ts";
import { whileWorking } from "../live/watch.ts";
import type { Flags } from "../program/flags.ts";
import { castFrom, chooseStarter, LOCAL_STARTER, starterSource } from "../project/choose-models.ts";
import { manifestFor, NOT_READABLE, type Project } from "../project/manifest.ts";
import { visible, visibleError } from "../text/escape.ts";
import { table } from "../text/table.ts";

export async function init(context: Context, given?: string, { recipe }: Flags["init"] = {}): Promise<void> {
  if (recipe === true) return printRecipes(context);
  if (recipe === undefined) return writeBegun(context, await beginStarter(context, given));
  if (given !== undefined) {
    const next = `showrunner init --recipe ${shellWord(visible(recipe))}`;
    throw usageError("--recipe cannot be combined with a file name: the file is named after the recipe", next);
  }
  return writeBegun(context, await beginRecipe(context, recipe));
}

async function beginStarter(context: Context, given?: string): Promise<Begun> {
  const { cwd } = context.io;
  if (given !== undefined && !/\.m?ts$/.test(given)) {
    throw usageError(`${visible(given)} is not a TypeScript file name`, "showrunner init film.ts");
  }
  const project = await manifestFor(join(cwd, "package.json"));
  const file = given ?? (project.isEsm ? "film.ts" : "film.mts");
  if ((await kindOf(resolve(cwd, file))) !== "missing") throw exists(file);
  const { found, said } = await askService(context, chooseStarter);
  const isReadable = project.manifest !== "unreadable";
  const isWrongKind = isReadable && !project.isEsm && !file.endsWith(".mts");
  const renaming = `package.json lacks "type": "module"; add it, or rename the file to ${visible(file).replace(/ts$/, "mts")}`;
  return {
    file,
    project,
    isHosted: found !== null,
    files: new Map([[file, starterSource(found ?? LOCAL_STARTER)]]),
    said: [
      said,
      ...(isReadable ? [] : [`${NOT_READABLE}, so it was left unchanged`]),
      ...(isWrongKind ? [renaming] : []),
    ],
  };
}

async function writeBegun({ io, output }: Context, { file, files, project, said, isHosted }: Begun): Promise<void> {
  const at = (path: string) => resolve(io.cwd, path);
  const kept: string[] = [];
  await refuseObstacles(io.cwd, [...files.keys(), "package.json", ".gitignore", "tsconfig.json"]);
  for (const [path, text] of files) if ((await writeNew(at(path), text)) === "kept") kept.push(path);
  await project.write();
  const ignored = await gitIgnores(at(".gitignore"));
  const isTyped = (await writeNew(at("tsconfig.json"), tsconfig(project))) !== "written";
  const document = {
    file: at(file),
    package_json: project.manifest,
    added: project.added,
    kept,
    gitignore: ignored.length === 0 ? "unchanged" : "added",
    tsconfig: isTyped ? "unchanged" : "written",
  };
  output.result(document, visible(at(file)));
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
      : `showrunner run ${name} --local   (generates small but real media on this machine, with play money)`,
  );
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

const folder = fileURLToPath(new URL("../../../recipes/", import.meta.url));

export function listRecipes() {
  const rows = readFileSync(join(folder, "README.md"), "utf8").matchAll(
    /^\| \[([a-z-]+)\.ts\]\([^)]+\) \| ([^|]+) \|/gm,
  );
  return [...rows].map(([, name = "", makes = ""]) => ({ name, makes: makes.trim() }));
}

export function filesOf(name: string) {
  const files = [`${name}.ts`];
  const packages = new Set<string>();
  for (const file of files) {
    if (!file.endsWith(".ts")) continue;
    const text = readRecipe(file).toString();
    const imported = [...text.matchAll(/ from "([^"]+)"/g)].map(([, from = ""]) => from);
    const near = imported.filter((from) => from.startsWith(".")).map((from) => posix.join(posix.dirname(file), from));
    const assets = [...text.matchAll(/assets(?:\/|", ")([\w.-]+\w)/g)].map(([, asset]) => `assets/${asset}`);
    for (const path of [...near, ...assets]) if (!files.includes(path)) files.push(path);
    for (const from of imported)
      if (!/^[.]|^node:|^showrunner|^zod$/.test(from)) packages.add(/^(?:@[^/]*\/)?[^/]*/.exec(from)![0]);
  }
  return { files, packages: [...packages].sort() };
}

function readRecipe(path: string): Buffer {
  return readFileSync(join(folder, path));
}

function printRecipes({ output }: Context): void {
  const recipes = listRecipes();
  const text = table(recipes, [
    { title: "recipe", value: ({ name }) => name },
    { title: "makes", value: ({ makes }) => makes },
  ]);
  output.result(recipes, text);
  output.next("showrunner init --recipe image-to-video   (copies this recipe with the files that it needs)");
}

async function beginRecipe(context: Context, name: string): Promise<Begun> {
  const { cwd } = context.io;
  if (!listRecipes().some((one) => one.name === name)) {
    throw usageError(`recipe ${visible(name)} does not exist`, "showrunner init --recipe");
  }
  const file = `${name}.ts`;
  if ((await kindOf(join(cwd, file))) !== "missing") throw exists(file);
  const { files, packages } = filesOf(name);
  const project = await manifestFor(join(cwd, "package.json"), packages);
  const elsewhere = `mkdir films && cd films && npx showrunner init --recipe ${shellWord(name)}`;
  if (project.manifest === "unreadable") {
    throw usageError(NOT_READABLE, `correct package.json, then: showrunner init --recipe ${shellWord(name)}`);
  }
  if (!project.isEsm) {
    throw usageError('recipes are ES modules, but package.json here does not have "type": "module"', elsewhere);
  }
  const copies = new Map<string, string | Buffer>(files.map((path) => [path, readRecipe(path)]));
  const lacking = await lackingIn(cwd, copies);
  if (lacking !== null) throw usageError(`${lacking}, which the recipe imports`, elsewhere);
  const own = await readFile(join(cwd, "models.ts"), "utf8").catch(() => null);
  const { found, said } = await askService(context, async (show, catalog) => {
    const { generateModels } = await import("../../core/catalog/index.ts");
    const models = generateModels(catalog);
    const cast = await castFrom(show, catalog, namesIn(own ?? models));
    return { models, cast: cast.source, missing: cast.missing };
  });
  if (found !== null) {
    copies.set("models.ts", found.models);
    copies.set("cast.ts", found.cast);
  }
  const roles = rolesIn(copies.get(file) ?? "");
  const missing = (found?.missing ?? []).filter((role) => roles.includes(role));
  const lacks = missing.map((role) => `cast.ts has no ${role}: the service has no suitable model`);
  const settings = await readFile(join(cwd, "tsconfig.json"), "utf8").catch(() => null);
  const isSet =
    settings === null || ['"allowImportingTsExtensions"', '"node"'].every((word) => settings.includes(word));
  const typing = isSet
    ? []
    : ['tsconfig.json needs "allowImportingTsExtensions": true, "noEmit": true and "types": ["node"] for this recipe'];
  return { file, files: copies, project, said: [said, ...lacks, ...typing], isHosted: found !== null };
}

/**
 * Checks that the user's existing files have what the copied files import. Returns a message about the first missing
 * export or `cast.ts` role; null if none is missing.
 */
async function lackingIn(cwd: string, copies: ReadonlyMap<string, string | Buffer>): Promise<string | null> {
  for (const [path, text] of copies) {
    for (const [, names = "", from = ""] of String(text).matchAll(/^import \{([^}]+)\} from "(\.[^"]+)"/gm)) {
      const target = posix.join(posix.dirname(path), from);
      const kept = await readFile(join(cwd, target), "utf8").catch(() => null);
      if (kept === null) continue;
      const lacks = names.match(/\w+/g)?.find((imported) => !new RegExp(`^export .*\\b${imported}\\b`, "m").test(kept));
      if (lacks !== undefined) return `${target} exists, but does not export ${lacks}`;
      if (target !== "cast.ts") continue;
      const missing = rolesIn(text).find((role) => !kept.includes(`${role}:`));
      if (missing !== undefined) return `${target} exists, but has no ${missing}`;
    }
  }
  return null;
}

function rolesIn(text: string | Buffer): readonly string[] {
  return String(text).match(/(?<=\bcast\.)(?!ts\b)\w+/g) ?? [];
}

function namesIn(source: string): ReadonlyMap<string, string> {
  const entries = source.matchAll(/^ {2}(\w+): model<.*?>\(("(?:[^"\\]|\\.)*")/gm);
  return new Map([...entries].map(([, name = "", id = '""']) => [JSON.parse(id) as string, name]));
}

interface Begun {
  readonly file: string;
  /** The files to write, by relative path. Existing files are left unchanged. */
  readonly files: ReadonlyMap<string, string | Buffer>;
  readonly project: Project;
  readonly said: readonly string[];
  readonly isHosted: boolean;
}

function exists(file: string): CliError {
  return usageError(
    `${visible(file)} already exists and was not overwritten`,
    "choose another name: showrunner init another.ts",
  );
}

function tsconfig({ isEsm }: { readonly isEsm: boolean }): string {
  // In a CommonJS project, Node detects the module type of each file.
  const modules = isEsm ? '"module": "nodenext",' : '"module": "preserve",\n    "moduleDetection": "force",';
  return `{
  "compilerOptions": {
    "target": "es2024",
    ${modules}
    "types": ["node"],
    "strict": true,
    "skipLibCheck": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true
  }
}
`;
}

/**
 * Throws if a file cannot be created at a path, or if the path is a link, because a link could redirect what this
 * command writes.
 */
async function refuseObstacles(folder: string, paths: Iterable<string>): Promise<void> {
  for (const path of paths) {
    const parts = relative(folder, resolve(folder, path)).split(sep);
    // The user named paths outside the folder explicitly.
    const look = parts[0] === ".." ? stat : lstat;
    for (let count = 1; count <= parts.length; count++) {
      const part = join(folder, parts.slice(0, count).join(sep));
      const found = await look(part).catch(() => null);
      if (found === null || (count < parts.length ? found.isDirectory() : found.isFile())) continue;
      const [is, cure] = found.isSymbolicLink()
        ? ["a link", "remove the link"]
        : [found.isDirectory() ? "a folder" : count < parts.length ? "not a folder" : "not a file", "rename it"];
      throw usageError(
        `${visible(part)} is ${is}, so nothing was written`,
        `${cure}, or run the command in another folder`,
      );
    }
  }
}

/** Writes the file unless it exists. Returns `kept` if the existing file has different content. */
async function writeNew(path: string, content: string | Buffer): Promise<"written" | "unchanged" | "kept"> {
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(path, content, { flag: "wx" });
    return "written";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return (await readFile(path)).equals(Buffer.from(content)) ? "unchanged" : "kept";
  }
}

const IGNORED = [".showrunner/", "out/", "node_modules/"];

async function gitIgnores(path: string): Promise<readonly string[]> {
  const before = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const there = new Set(before.split(/\r?\n/).map((line) => line.trim().replace(/^\/|\/$/g, "")));
  const added = IGNORED.filter((folder) => !there.has(folder.slice(0, -1)));
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  if (added.length > 0) await writeDurably(path, `${before}${gap}${added.join("\n")}\n`);
  return added;
}

const LOCAL = "using the local service's models";

/**
 * Chooses models from the configured service. `found` is null if no service is configured, the request fails, or the
 * service lacks suitable models. `said` is the message for the user.
 */
async function askService<T>(
  context: Context,
  choose: (show: Showrunner, catalog: Catalog) => Promise<T | null>,
): Promise<{ readonly found: T | null; readonly said: string }> {
  const named = chooseService({}, context.io.env);
  if (named === null)
    return { found: null, said: `Neither SHOWRUNNER_SERVICE nor SHOWRUNNER_BASE_URL is set: ${LOCAL}` };
  const service = "problem" in named ? named.setting : (named.deployment?.title ?? visible(named.baseUrl));
  try {
    const found = await withShowrunner({}, async (show) => {
      const { pullCatalog } = await import("../../core/catalog/index.ts");
      return whileWorking(context, `asking ${service} for its models and prices`, async () => {
        return choose(show, await pullCatalog(show.client, null));
      });
    });
    const lacks = `${service} lacks an image model or a video model that starts from an image: ${LOCAL}`;
    return { found, said: found === null ? lacks : `Using the models of ${service}` };
  } catch (error) {
    return {
      found: null,
      said: `Could not load the list of models from ${service} (${visibleError(error)}): ${LOCAL}`,
    };
  }
}

const SKILL = "showrunner/SKILL.md";

/** The folder that most coding agents search for a project's skills. */
const FOLDER = ".claude/skills";

export async function installSkills({ io, output }: Context, flags: Flags["skills install"]): Promise<void> {
  const { dir = FOLDER, force = false } = flags;
  const file = resolve(io.cwd, dir, SKILL);
  const skill = await readFile(new URL(`../skills/${SKILL}`, import.meta.url), "utf8");
  await refuseObstacles(
    ...(flags.dir === undefined ? ([io.cwd, [join(dir, SKILL)]] as const) : ([resolve(io.cwd, dir), [SKILL]] as const)),
  );
  const found = await writeNew(file, skill);
  if (found === "kept") {
    const where = flags.dir === undefined ? "" : ` --dir ${shellWord(visible(dir))}`;
    if (!force)
      throw usageError(
        `${visible(join(dir, SKILL))} already exists and differs from the skill in this version of Showrunner, so it was not overwritten`,
        `showrunner skills install${where} --force   (overwrites it, including your changes)`,
      );
    await writeDurably(file, skill);
  }
  const state = found === "kept" ? "overwritten" : found;
  output.result({ file, state }, visible(file));
  if (found === "unchanged") output.say("Already up to date");
  output.say(
    "Agents that read skills from this folder will find the skill the next time they start, and will use it for pipelines and videos",
  );
  output.next("showrunner init   (creates a starter pipeline)");
}
