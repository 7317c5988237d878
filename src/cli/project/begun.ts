import { lstat, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { chooseService } from "../../core/kit/deployments.ts";
import { writeDurably } from "../../core/kit/files.ts";
import type { Catalog, Showrunner } from "../../index.ts";
import { type CliError, usageError } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { whileWorking } from "../live/redraw.ts";
import { visible, visibleError } from "../text/escape.ts";
import type { Project } from "./manifest.ts";

export interface Begun {
  readonly file: string;
  /** The files to write, by relative path. Existing files are left unchanged. */
  readonly files: ReadonlyMap<string, string | Buffer>;
  readonly project: Project;
  readonly said: readonly string[];
  readonly isHosted: boolean;
}

export function exists(file: string): CliError {
  return usageError(
    `${visible(file)} already exists and was not overwritten`,
    "choose another name: showrunner init another.ts",
  );
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

export function tsconfig({ isEsm }: { readonly isEsm: boolean }): string {
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
export async function refuseObstacles(folder: string, paths: Iterable<string>): Promise<void> {
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
export async function writeNew(path: string, content: string | Buffer): Promise<"written" | "unchanged" | "kept"> {
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

export async function gitIgnores(path: string): Promise<readonly string[]> {
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

export interface Asked<T> {
  readonly found: T | null;
  readonly said: string;
}

const LOCAL = "using the local service's models";

/** Uses the local service's models if no service is configured or the request fails. */
export async function askService<T>(
  context: Context,
  choose: (show: Showrunner, catalog: Catalog) => Promise<T | null>,
): Promise<Asked<T>> {
  const named = chooseService({}, context.io.env);
  if (named === null)
    return { found: null, said: `Neither SHOWRUNNER_SERVICE nor SHOWRUNNER_BASE_URL is set: ${LOCAL}` };
  const service = "problem" in named ? named.setting : (named.deployment?.title ?? visible(named.baseUrl));
  try {
    const found = await withShowrunner({}, async (show) => {
      const { pullCatalog } = await import("../../core/catalog/index.ts");
      const work = pullCatalog(show.client, null).then((catalog) => choose(show, catalog));
      return whileWorking(context, work, () => `asking ${service} for its models and prices`);
    });
    if (found !== null) return { found, said: `Using the models of ${service}` };
    return {
      found,
      said: `${service} has no image model, or no video model that starts from an image: ${LOCAL}`,
    };
  } catch (error) {
    return { found: null, said: `Could not read the models of ${service} (${visibleError(error)}): ${LOCAL}` };
  }
}
