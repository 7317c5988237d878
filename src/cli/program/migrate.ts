import type { Command } from "commander";
import type { MigrateFlags } from "../commands/migrate.ts";
import type { Context } from "../context.ts";
import { collect, type Finish, withFamilies } from "./flags.ts";

/** The command that carries v2 work over. */
export function addMigrating(program: Command, context: Context, finish: Finish): void {
  withFamilies(program.command("migrate <v2-file>"))
    .description("turn v2 bodies or an exported automation flow into a pipeline, with a report of every field")
    .requiredOption("--out <dir>", "folder that pipeline.ts, models.ts, report.md and report.json are written to")
    .option("--map <v2=v3>", "the v3 model for a v2 slug, or the v3 voice for a v2 one; may be given again", collect)
    .option(
      "--decisions <file>",
      "file that keeps --map and answers, so that nothing is asked twice (default: migrate.decisions.json, where it exists)",
    )
    .option("--catalog <file>", "the models to migrate to (default: those of the service)")
    .option("--verify", "run the pipeline on a local service and compare what it makes with what v2 would make")
    .option("--force", "overwrite a pipeline.ts that was edited since it was written")
    .option("--local", "use the local service on this machine, whatever the environment says")
    .option("--base-url <url>", "v3 address of the service (default: SHOWRUNNER_BASE_URL)")
    .option("--json", "print the report as one JSON document on stdout")
    .action(async (file: string, flags: MigrateFlags) =>
      finish(await (await import("../commands/migrate.ts")).migrate(context, file, flags)),
    );
}
