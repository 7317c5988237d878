import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { RunPlanned } from "./events.ts";
import type { JournalStore } from "./store.ts";

/** Folder of the project that a journal file belongs to, absolute: where `.showrunner` is, or the file itself. */
export function projectOf(journalFile: string): string {
  const folder = dirname(journalFile);
  return basename(folder) === ".showrunner" ? dirname(folder) : folder;
}

/**
 * A run's plan and terms where its journal is now: a project that was moved takes its out folders along. Where the old one is
 * still there, no more than a copy was made, and files keep going to it.
 */
export function moved(planned: RunPlanned, { project }: JournalStore): RunPlanned {
  const { project: before, outDir } = planned;
  if (typeof before !== "string" || project === undefined || before === project) return planned;
  const below = relative(before, outDir);
  if (!isAbsolute(outDir) || below.startsWith("..") || isAbsolute(below) || existsSync(outDir)) return planned;
  return { ...planned, project, outDir: join(project, below) };
}
