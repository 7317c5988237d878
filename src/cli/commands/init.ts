import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { writeDurably } from "../../durable-file.ts";
import { ownVersion } from "../../own-version.ts";
import { shellWord } from "../../shell-word.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { visible } from "../text/escape.ts";

const NAME = "showrunner-local";
const FIELDS = ["dependencies", "devDependencies", "optionalDependencies"] as const;

interface Manifest {
  readonly name?: string;
  readonly dependencies?: Packages;
  readonly devDependencies?: Packages;
  readonly optionalDependencies?: Packages;
}

type Packages = Readonly<Record<string, string>>;

/**
 * Makes the local service a development dependency of the project, so that its pipelines run without a key. Does not where
 * there is no package.json that can be read.
 */
export async function addLocalService(path: string): Promise<"added" | "had it" | "not added"> {
  const text = await readFile(path, "utf8").catch(() => "");
  const manifest = parsed(text);
  if (manifest === null) return "not added";
  // A clone of Showrunner has it as a workspace.
  const hasIt = manifest.name === "showrunner" || FIELDS.some((field) => manifest[field]?.[NAME] !== undefined);
  if (hasIt) return "had it";
  const added = { ...manifest.devDependencies, [NAME]: `^${ownVersion()}` };
  const sorted = Object.fromEntries(Object.entries(added).sort(([a], [b]) => (a < b ? -1 : 1)));
  const indent = /^\{\s*\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  await writeDurably(path, `${JSON.stringify({ ...manifest, devDependencies: sorted }, null, indent)}\n`);
  return "added";
}

function parsed(text: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? (value as Manifest | null) : null;
  } catch {
    return null;
  }
}

/** What `showrunner init` writes: a pipeline of two steps that runs as it is. */
export const STARTER = `import { pipeline } from "showrunner";
import { z } from "zod";

/** Draws a picture, then sets it in motion. Prices: showrunner plan <this file>. Try it: showrunner run <this file> --local */
export default pipeline("first-film", {
  input: z.object({
    scene: z.string().min(1).default("A red ferry in a small harbour at dawn, gulls above it"),
    motion: z.string().min(1).default("The ferry leaves slowly to the left, water ripples"),
  }),
  build({ input, job }) {
    // Steps have a name, a model and its input. \`showrunner models pull\` writes typed models to use in place of ids.
    const picture = job("picture", "image-1", { prompt: input.scene, aspect_ratio: "16:9" });
    // Using a step inside another step's input is what makes it wait for that step.
    const film = job("film", "video-1", {
      start_image: picture,
      prompt: input.motion,
      aspect_ratio: "16:9",
      resolution: "720p",
      duration_ms: 3000,
    });
    // What is returned becomes named files in out/<run id>.
    return { picture, film };
  },
});
`;

export interface InitFlags {
  readonly json?: boolean;
}

const IGNORED = ".showrunner/";

/** `showrunner init`: a pipeline to begin with, the local service to run it on, and what git should not keep. Overwrites nothing. */
export async function init(context: Context, file = "film.ts", flags: InitFlags = {}): Promise<ExitCode> {
  const { io, output } = context;
  const path = resolve(io.cwd, file);
  if (!/\.m?ts$/.test(path)) {
    throw new CliError("USAGE", `${visible(file)} is no name for a TypeScript file`, {
      next: "showrunner init film.ts",
    });
  }
  await mkdir(dirname(path), { recursive: true });
  if (!(await written(path, STARTER))) {
    throw new CliError("USAGE", `${visible(file)} exists already, and nothing is overwritten`, {
      next: "name another file: showrunner init another.ts",
    });
  }
  const localService = await addLocalService(resolve(io.cwd, "package.json"));
  const isIgnored = await ignore(resolve(io.cwd, ".gitignore"));
  const tsconfig = await readFile(resolve(io.cwd, "tsconfig.json"), "utf8").catch(() => null);
  if (flags.json)
    output.printJson({ file: path, gitignore: isIgnored ? "had it" : "added", local_service: localService });
  else output.print(visible(path));
  if (localService === "added") output.say("package.json now has showrunner-local, the local service, for development");
  if (!isIgnored) output.say(`.gitignore now leaves out ${IGNORED} (journal, media and the local service's data)`);
  if (tsconfig === null || !tsconfig.includes("allowImportingTsExtensions")) {
    output.say("For your editor, tsconfig.json wants these compilerOptions (the command line itself needs none):");
    output.say(
      '  "module": "nodenext", "strict": true, "noEmit": true, "erasableSyntaxOnly": true, "allowImportingTsExtensions": true',
    );
  }
  const name = shellWord(visible(file));
  const install = { added: ["npm install"], "had it": [], "not added": ["npm i -D showrunner-local"] }[localService];
  output.next(
    ...install.map((command) => `${command}   (installs the local service)`),
    `showrunner plan ${name}   (prices and checks, spends nothing)`,
    `showrunner run ${name} --local   (real little media on this machine, play money)`,
  );
  return ExitCode.done;
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
