import type { Command } from "commander";
import type { Context } from "../context.ts";
import type { CallFlags } from "../service/call.ts";
import { callSpecs } from "../service/specs.ts";
import { addOption, collect, type Finish, withService } from "./flags.ts";

const groups: Readonly<Record<string, string>> = {
  models: "look at the catalog",
  jobs: "look at jobs, submit one, delete one",
  files: "upload files",
  keys: "manage API keys",
  tokens: "mint tokens for browsers",
  webhooks: "manage the default webhook and its deliveries",
  drains: "manage log drains",
};

/** The calls of the API, as `group verb`. */
export function addCalls(program: Command, context: Context, finish: Finish): void {
  const created = new Map<string, Command>();
  for (const spec of callSpecs) {
    const [group = "", verb] = spec.name.split(" ");
    const parent =
      verb === undefined ? program : (created.get(group) ?? program.command(group).description(groups[group] ?? ""));
    if (verb !== undefined) created.set(group, parent);
    const command = parent.command([verb ?? group, ...(spec.args ?? [])].join(" ")).description(spec.description);
    for (const [flags, description] of spec.options ?? []) addOption(command, flags, description);
    withService(command).action(async (...given: unknown[]) => {
      const count = spec.args?.length ?? 0;
      const args = given.slice(0, count).map(String);
      const { performCall } = await import("../service/perform.ts");
      finish(await performCall(spec, context, args, given[count] as CallFlags));
    });
  }
  addModelsDiff(created.get("models") ?? program, context, finish);
}

/** No call of the API: compares what it says now with what was pulled. */
function addModelsDiff(models: Command, context: Context, finish: Finish): void {
  withService(models.command("diff [files...]"))
    .description("say what changed in the catalog since it was pulled, and which of these pipelines that breaks")
    .option("--snapshot <file>", "the earlier catalog (default: catalog.json)")
    .option("--with <file>", "compare with this catalog instead of the service's")
    .option("--input <json|@file>", "the pipelines' input, where it has no defaults")
    .option("-i <key=value>", "one field of it; key:=json for anything but text", collect)
    .action(async (files: readonly string[], flags: object) =>
      finish(await (await import("../commands/models-diff.ts")).modelsDiff(context, files, flags)),
    );
}
