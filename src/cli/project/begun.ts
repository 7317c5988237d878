import { lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { chooseService } from "../../core/kit/deployments.ts";
import { writeDurably } from "../../core/kit/durable-file.ts";
import type { Catalog, Showrunner } from "../../internal.ts";
import { type CliError, usageError } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { whileWorking } from "../live/redraw.ts";
import { visible, visibleError } from "../text/escape.ts";
import type { Project } from "./manifest.ts";

/** What one kind of `init` writes beside what every project needs. */
export interface Begun {
  /** The pipeline; its source is in `files`. */
  readonly file: string;
  /** By path, relative to the folder. Those that are there stay as they are. */
  readonly files: ReadonlyMap<string, string | Buffer>;
  readonly project: Project;
  readonly said: readonly string[];
  /** Whether jobs go to a service that is not this machine's. */
  readonly isHosted: boolean;
}

export function exists(file: string): CliError {
  return usageError(
    `${visible(file)} exists already, and nothing is overwritten`,
    "name another file: showrunner init another.ts",
  );
}

export async function isThere(path: string): Promise<boolean> {
  return readFile(path).then(
    () => true,
    () => false,
  );
}

/** Settings under which pipelines type-check as Node runs them. */
export function tsconfig({ isEsm }: { readonly isEsm: boolean }): string {
  // Beside programs that are no ES modules, Node finds out what each file is.
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
 * Throws before anything is written where a file of ours, or a folder on its way, is a link: in a folder that somebody else prepared
 * it would lead what we write to another place.
 */
export async function refuseLinks(folder: string, paths: Iterable<string>): Promise<void> {
  for (const path of paths) {
    const parts = relative(folder, resolve(folder, path)).split(sep);
    // What lies elsewhere was named in full.
    if (parts[0] === "..") continue;
    for (let count = 1; count <= parts.length; count++) {
      const part = join(folder, parts.slice(0, count).join(sep));
      if ((await lstat(part).catch(() => null))?.isSymbolicLink() !== true) continue;
      throw usageError(
        `${visible(part)} is a link, and nothing is written through it`,
        "remove the link, or run the command in another folder",
      );
    }
  }
}

/** Writes a file, with its folder, where there is none of that name. `kept`: there is another one. */
export async function writeNew(path: string, content: string | Buffer): Promise<"written" | "the same" | "kept"> {
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(path, content, { flag: "wx" });
    return "written";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return (await readFile(path)).equals(Buffer.from(content)) ? "the same" : "kept";
  }
}

const IGNORED = [".showrunner/", "out/", "node_modules/"];

/** Adds our lines to a .gitignore; those that were added. */
export async function gitIgnores(path: string): Promise<readonly string[]> {
  const before = await readFile(path, "utf8").catch(() => "");
  const there = new Set(before.split(/\r?\n/).map((line) => line.trim().replace(/^\/|\/$/g, "")));
  const added = IGNORED.filter((folder) => !there.has(folder.slice(0, -1)));
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  if (added.length > 0) await writeDurably(path, `${before}${gap}${added.join("\n")}\n`);
  return added;
}

export interface Asked<T> {
  /** Null where it is written for the local service, whose models are known. */
  readonly found: T | null;
  /** For whom it is written, and why. */
  readonly said: string;
}

const LOCAL = "written for the local service's models";

/** Asks the service that the environment names what it has. Without one, or when it cannot say, the local service stands in. */
export async function askService<T>(
  context: Context,
  choose: (show: Showrunner, catalog: Catalog) => Promise<T | null>,
): Promise<Asked<T>> {
  const named = chooseService({}, context.io.env);
  if (named === null) return { found: null, said: `No service is named in SHOWRUNNER_BASE_URL: ${LOCAL}` };
  const service = "problem" in named ? named.setting : (named.deployment?.title ?? visible(named.baseUrl));
  try {
    const found = await withShowrunner({}, async (show) => {
      const { pullCatalog } = await import("../../internal.ts");
      const work = pullCatalog(show.client, null).then((catalog) => choose(show, catalog));
      return whileWorking(context, work, () => `asking ${service} for its models and prices`);
    });
    if (found !== null) return { found, said: `Written for the models of ${service}` };
    return { found, said: `${service} has no two models for a picture and a film that starts on it: ${LOCAL}` };
  } catch (error) {
    return { found: null, said: `${service} could not be asked (${visibleError(error)}): ${LOCAL}` };
  }
}
