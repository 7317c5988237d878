import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import type { SliceOptions } from "../index.ts";
import { isPostgresUrl } from "../journal-location.ts";
import type { Engine } from "../worker/index.ts";
import { CliError } from "./cli-error.ts";
import { type Context, journalOf, type ServiceFlags } from "./context.ts";
import { loadPipeline } from "./load/pipeline-file.ts";
import type { ENGINES } from "./program/flags.ts";
import { restateOptions } from "./restate-url.ts";
import { visible, visibleError } from "./text/escape.ts";

export interface EngineFlags extends ServiceFlags {
  readonly engine?: (typeof ENGINES)[number] | undefined;
  /** Where the engine is: a database, or Restate. */
  readonly engineUrl?: string | undefined;
}

export async function openEngine({ io, output }: Context, flags: EngineFlags): Promise<Engine> {
  const onError = (error: unknown, what: string) =>
    output.say(`${visible(what)}: ${visibleError(error)} (tried again)`);
  const engineUrl = flags.engineUrl ?? io.env.SHOWRUNNER_ENGINE_URL;
  if (flags.engine === "restate") {
    const { createRestateEngine } = await import("../restate/index.ts");
    const options = restateOptions(engineUrl ?? "http://127.0.0.1:8080");
    return createRestateEngine({ ...options, token: io.env.SHOWRUNNER_ENGINE_TOKEN, onError });
  }
  if (flags.engine !== "pg-boss") {
    const { createTimersEngine } = await import("../worker/index.ts");
    return createTimersEngine({ onError });
  }
  const connectionString = engineUrl ?? journalOf(io, flags);
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
