import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { visible } from "../text/escape.ts";
import { type LoadedPipeline, loadPipeline } from "./pipeline-file.ts";

const ENDINGS = /\.(ts|mts|cts|js|mjs|cjs)$/;
const NO_PIPELINE: ReadonlySet<string> = new Set(["PIPELINE_NOT_FOUND"]);

/**
 * The pipeline of every file directly in the folder that exports one; what cannot be loaded, or has the name of another, is
 * reported and left out.
 */
export async function pipelinesIn(folder: string, { io, output }: Context): Promise<readonly LoadedPipeline[]> {
  const path = resolve(io.cwd, folder);
  const entries = await readdir(path, { withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && ENDINGS.test(entry.name) && !/\.d\.[mc]?ts$/.test(entry.name),
  );
  const found: LoadedPipeline[] = [];
  for (const { name } of files.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    try {
      const loaded = await loadPipeline(join(path, name), io.cwd);
      const taken = found.find(({ pipeline }) => pipeline.name === loaded.pipeline.name);
      if (taken === undefined) found.push(loaded);
      else
        output.say(
          `${visible(name)} is left out: ${relative(path, taken.file)} has a pipeline of its name, ${visible(loaded.pipeline.name)}`,
        );
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      if (!NO_PIPELINE.has(error.code)) output.say(`${visible(name)} is left out: ${error.message}`);
    }
  }
  return found;
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}
