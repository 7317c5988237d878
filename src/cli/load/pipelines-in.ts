import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { visible } from "../text/escape.ts";
import { type LoadedPipeline, loadPipelines } from "./pipeline-file.ts";

const ENDINGS = /\.(ts|mts|cts|js|mjs|cjs)$/;

/** Skips files that fail to load and pipelines whose name is taken. */
export async function pipelinesIn(folder: string, { io, output }: Context): Promise<readonly LoadedPipeline[]> {
  const path = resolve(io.cwd, folder);
  const entries = await readdir(path, { withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && ENDINGS.test(entry.name) && !/\.d\.[mc]?ts$/.test(entry.name),
  );
  const found: LoadedPipeline[] = [];
  for (const { name } of files.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    try {
      for (const loaded of await loadPipelines(join(path, name), io.cwd)) {
        const taken = found.find(({ pipeline }) => pipeline.name === loaded.pipeline.name);
        if (taken === undefined) found.push(loaded);
        else
          output.say(
            `Skipped ${visible(`${name}#${loaded.exportName}`)}: ${visible(relative(path, taken.file))} already has a pipeline named ${visible(loaded.pipeline.name)}`,
          );
      }
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      output.say(`Skipped: ${error.message}`);
    }
  }
  return found;
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}
