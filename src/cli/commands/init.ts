import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { writeDurably } from "../../durable-file.ts";
import { shellWord } from "../../shell-word.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { completeManifest, type Project } from "../project/manifest.ts";
import { STARTER, TSCONFIG } from "../project/starter.ts";
import { visible } from "../text/escape.ts";

export interface InitFlags {
  readonly json?: boolean;
}

const IGNORED = ".showrunner/";

/**
 * `showrunner init`: a project to begin with, or what one that exists lacks: a pipeline, the packages that it needs, settings of
 * TypeScript, and what git should not keep. Overwrites nothing.
 */
export async function init(context: Context, given?: string, flags: InitFlags = {}): Promise<ExitCode> {
  const { io, output } = context;
  if (given !== undefined && !/\.m?ts$/.test(given)) {
    throw new CliError("USAGE", `${visible(given)} is no name for a TypeScript file`, {
      next: "showrunner init film.ts",
    });
  }
  if (given !== undefined && (await isThere(resolve(io.cwd, given)))) throw exists(given);
  const project = await completeManifest(resolve(io.cwd, "package.json"));
  const file = given ?? (project.modules === "commonjs" ? "film.mts" : "film.ts");
  const path = resolve(io.cwd, file);
  await mkdir(dirname(path), { recursive: true });
  if (!(await written(path, STARTER))) throw exists(file);
  const isIgnored = await ignore(resolve(io.cwd, ".gitignore"));
  const isTyped = !(await written(resolve(io.cwd, "tsconfig.json"), TSCONFIG));
  if (flags.json) {
    output.printJson({
      ...{ file: path, package_json: project.manifest, added: project.added },
      ...{ gitignore: isIgnored ? "had it" : "added", tsconfig: isTyped ? "had it" : "written" },
    });
  } else output.print(visible(path));
  for (const line of said(project, file)) output.say(line);
  if (!isIgnored) output.say(`.gitignore now leaves out ${IGNORED} (journal, media and the local service's data)`);
  if (!isTyped) output.say("tsconfig.json is there for your editor; Showrunner itself needs none");
  const name = shellWord(visible(file));
  const install = installCommand(project);
  output.next(
    ...(install === null ? [] : [install]),
    `showrunner plan ${name}   (prices and checks, spends nothing)`,
    `showrunner run ${name} --local   (real little media on this machine, play money)`,
  );
  return ExitCode.done;
}

function said({ manifest, added, isNowEsm, modules }: Project, file: string): readonly string[] {
  const lines: string[] = [];
  if (added.length > 0)
    lines.push(`package.json ${manifest === "written" ? "was written with" : "now has"} ${added.join(", ")}`);
  if (isNowEsm && manifest !== "written")
    lines.push('package.json now says "type": "module", as pipelines are ES modules');
  if (modules === "commonjs" && !file.endsWith(".mts"))
    lines.push(
      `package.json says "type": "commonjs": rename the file to ${file.replace(/ts$/, "mts")}, or set "type": "module"`,
    );
  return lines;
}

function installCommand({ manifest, added }: Project): string | null {
  if (manifest === "not readable") return "npm i showrunner zod && npm i -D showrunner-local";
  return added.length > 0 ? "npm install   (installs what package.json now names)" : null;
}

function exists(file: string): CliError {
  return new CliError("USAGE", `${visible(file)} exists already, and nothing is overwritten`, {
    next: "name another file: showrunner init another.ts",
  });
}

async function isThere(path: string): Promise<boolean> {
  return readFile(path).then(
    () => true,
    () => false,
  );
}

/** False when there is such a file already. */
async function written(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Adds our line to a .gitignore; true when it stood there before. */
async function ignore(path: string): Promise<boolean> {
  const before = await readFile(path, "utf8").catch(() => "");
  const lines = before.split(/\r?\n/).map((line) => line.trim().replace(/^\//, ""));
  if (lines.includes(IGNORED) || lines.includes(".showrunner")) return true;
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  await writeDurably(path, `${before}${gap}${IGNORED}\n`);
  return false;
}
