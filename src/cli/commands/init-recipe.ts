import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { shellWord } from "../../core/kit/value-text.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { packageOf } from "../explain-error.ts";
import type { Flags } from "../program/flags.ts";
import { askService, type Begun, exists, isThere } from "../project/begun.ts";
import { castFrom } from "../project/choose-models.ts";
import { manifestFor, NOT_READABLE } from "../project/manifest.ts";
import { visible } from "../text/escape.ts";
import { table } from "../text/table.ts";

const folder = fileURLToPath(new URL("../../../recipes/", import.meta.url));

export interface Recipe {
  readonly name: string;
  readonly makes: string;
}

export function listRecipes(): readonly Recipe[] {
  const rows = readFileSync(join(folder, "README.md"), "utf8").matchAll(
    /^\| \[([a-z-]+)\.ts\]\([^)]+\) \| ([^|]+) \|/gm,
  );
  return [...rows].map(([, name = "", makes = ""]) => ({ name, makes: makes.trim() }));
}

export interface RecipeFiles {
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

export function filesOf(name: string): RecipeFiles {
  const files = [`${name}.ts`];
  const packages = new Set<string>();
  for (const file of files) {
    if (!file.endsWith(".ts")) continue;
    const text = readRecipe(file).toString();
    const imported = [...text.matchAll(/ from "([^"]+)"/g)].map(([, from = ""]) => from);
    const near = imported.filter((from) => from.startsWith(".")).map((from) => posix.join(posix.dirname(file), from));
    const assets = [...text.matchAll(/assets(?:\/|", ")([\w.-]+\w)/g)].map(([, asset]) => `assets/${asset}`);
    for (const path of [...near, ...assets]) if (!files.includes(path)) files.push(path);
    for (const from of imported) if (!/^[.]|^node:|^showrunner|^zod$/.test(from)) packages.add(packageOf(from));
  }
  return { files, packages: [...packages].sort() };
}

export function readRecipe(path: string): Buffer {
  return readFileSync(join(folder, path));
}

export function printRecipes({ output }: Context, { json }: Flags["init"]): ExitCode {
  const recipes = listRecipes();
  if (json) output.printJson(recipes);
  else {
    output.print(
      table(recipes, [
        { title: "recipe", value: ({ name }) => name },
        { title: "makes", value: ({ makes }) => makes },
      ]),
    );
  }
  output.next("showrunner init --recipe image-to-video   (copies this recipe with the files that it needs)");
  return ExitCode.done;
}

export async function beginRecipe(context: Context, name: string): Promise<Begun> {
  const { cwd } = context.io;
  if (!listRecipes().some((one) => one.name === name)) {
    throw usageError(`recipe ${visible(name)} does not exist`, "showrunner init --recipe");
  }
  const file = `${name}.ts`;
  if (await isThere(join(cwd, file))) throw exists(file);
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

/** Describes an import or role that the user's existing files lack, or returns null. */
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
