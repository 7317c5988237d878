import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import type { SliceOptions } from "../index.ts";
import { isPostgresUrl } from "../journal-location.ts";
import type { Engine } from "../worker/index.ts";
import { CliError } from "./cli-error.ts";
import { type Context, journalOf, type ServiceFlags } from "./context.ts";
import { loadPipeline } from "./load/pipeline-file.ts";
import { visible } from "./text/escape.ts";

/** Engines by the names of their flags. `timers`: this process's own. */
export const ENGINES = ["timers", "pg-boss"] as const;

export interface EngineFlags extends ServiceFlags {
  readonly engine?: (typeof ENGINES)[number] | undefined;
  /** Database of the engine, where it is not that of the journal. */
  readonly engineUrl?: string | undefined;
}

export async function openEngine({ io, output }: Context, flags: EngineFlags): Promise<Engine> {
  const onError = (error: unknown, what: string) =>
    output.say(`${visible(what)}: ${visible(error instanceof Error ? error.message : String(error))} (tried again)`);
  if (flags.engine !== "pg-boss") {
    const { createTimersEngine } = await import("../worker/index.ts");
    return createTimersEngine({ onError });
  }
  const connectionString = flags.engineUrl ?? io.env.SHOWRUNNER_ENGINE_URL ?? journalOf(io, flags);
  if (!isPostgresUrl(connectionString)) {
    throw new CliError("USAGE", "--engine pg-boss needs a PostgreSQL database, and the journal is a file", {
      next: "set SHOWRUNNER_JOURNAL=postgres://…, which then holds both; or name one with --engine-url",
    });
  }
  const { createPgBossEngine } = await import("../pg-boss/index.ts");
  return createPgBossEngine({ connectionString, onError });
}

/**
 * Finds the code of runs that were planned on any machine: the file of the longest end of its path that lies in the folder, with the
 * export of that name. Nothing outside of the folder is loaded.
 */
export function pipelinesIn(folder: string): NonNullable<SliceOptions["findPipeline"]> {
  return async ({ source, plan }) => {
    if (source === null) return null;
    const parts = source.file.split(/[\\/]/).filter((part) => part !== "" && part !== "." && part !== "..");
    const ends = parts.map((_, from) => join(folder, parts.slice(from).join(sep)));
    const file = ends.find((path) => existsSync(path));
    if (file === undefined) return null;
    const { pipeline } = await loadPipeline(`${file}#${source.exportName}`, folder);
    return pipeline.name === plan.pipeline ? pipeline : null;
  };
}
