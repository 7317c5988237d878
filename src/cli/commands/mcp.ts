import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { formatUsd, parseUsd } from "../../core/kit/money.ts";
import { AGENT_TAG, type AgentPipeline, AgentSession, serveStdio, startHttp } from "../../studio/mcp/index.ts";
import { committedMicros } from "../../studio/served/index.ts";
import { CliError, usageError } from "../cli-error.ts";
import { type Context, journalFolderOf, sayWhere, withShowrunner } from "../context.ts";
import { kindOf } from "../input/named-file.ts";
import { pipelinesIn } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { CARRIED, flagsFor } from "../text/next-line.ts";
import { counted } from "../text/table.ts";
import { storedToken } from "./dashboard.ts";

const DEFAULT_PORT = 8789;

export async function mcp(context: Context, folder: string, flags: Flags["mcp"]): Promise<void> {
  const { io, output } = context;
  const filesDir = await existingFolder(flags.files ?? folder, io.cwd);
  // Load the pipelines only once, so that an agent with write access to the folder cannot make this process run its
  // code.
  const pipelines = await agentPipelines(folder, context);
  const codeBefore = await codeOf(pipelines);
  const journalFolder = journalFolderOf(io, flags);
  await mkdir(journalFolder, { recursive: true, mode: 0o700 });
  const [budgetMicros, beforeMicros] = [parseUsd(flags.budget ?? ""), await spentBefore(flags)];
  const budget = budgetMicros === null ? [] : [`${AGENT_TAG}:${formatUsd(beforeMicros + budgetMicros)}`];
  const capped = { ...flags, files: filesDir, cap: [...(flags.cap ?? []), ...budget] };
  await withShowrunner(capped, async (show) => {
    sayWhere(show, context);
    const session = new AgentSession({
      show,
      journal: show.journal,
      pipelines,
      filesDir,
      budgetMicros,
      beforeMicros,
      runBudgetMicros: parseUsd(flags.runBudget ?? ""),
      maxUnquoted: flags.maxUnquoted,
      allowApprove: flags.allowApprove === true,
      mayAsk: flags.ask === true,
      log: (text) => output.say(visible(text)),
    });
    sayLimits(context, flags, pipelines);
    if (flags.http) {
      const token = await storedToken(join(journalFolder, "mcp-token"), output);
      const served = await startHttp(session, { port: flags.port ?? DEFAULT_PORT, token });
      const { interrupt } = io;
      output.result({ url: served.url, token }, `${served.url}\nAuthorization: Bearer ${token}`);
      if (!interrupt.aborted) await once(interrupt, "abort");
      await served.close();
    } else await serveStdio(session, io.interrupt);
    if (!io.interrupt.aborted) {
      await handOver(session, context, capped, codeBefore);
      await session.idle();
    }
  });
}

async function spentBefore({ budget, ...flags }: Flags["mcp"]): Promise<number> {
  return budget === undefined ? 0 : withShowrunner(flags, (show) => committedMicros(show, AGENT_TAG));
}

function sayLimits(
  { output }: Context,
  { budget, runBudget, allowApprove }: Flags["mcp"],
  pipelines: readonly AgentPipeline[],
): void {
  const each = runBudget === undefined ? "" : ` and $${runBudget} per run`;
  const spends =
    budget === undefined
      ? "Agents can only plan and price runs (to let them start runs, set --budget)"
      : `Agents can spend at most $${budget} in total${each}`;
  const decides = allowApprove === true ? "can approve" : "cannot approve";
  output.say(`Offering ${counted(pipelines.length, "pipeline")} to agents. ${spends}, and ${decides}.`);
}

type Code = ReadonlyMap<string, string>;

async function codeOf(pipelines: readonly AgentPipeline[]): Promise<Code> {
  const hashes = pipelines.map(async ({ source: { file } }) => {
    return [file, hash("sha256", await readFile(file, "utf8").catch(() => ""))] as const;
  });
  return new Map(await Promise.all(hashes));
}

/**
 * Hands unfinished runs over to separate processes, because agent hosts kill this process soon after they disconnect.
 */
async function handOver(session: AgentSession, context: Context, flags: Flags["mcp"], codeBefore: Code): Promise<void> {
  const { io, output } = context;
  const folder = join(journalFolderOf(io, flags), "logs");
  for (const runId of session.driven) {
    const { planned } = await session.state(runId);
    const { source, input, budgetMicros } = planned;
    const code = session.options.pipelines.find((one) => one.source.file === source?.file);
    const isReviewed =
      code !== undefined && (await codeOf([code])).get(code.source.file) === codeBefore.get(code.source.file);
    if (source === null || io.background === null || !isReviewed) {
      const why =
        io.background === null
          ? "this system cannot start a background process"
          : `its pipeline file ${code === undefined ? "is not one of the files that this server offers" : "has changed"}`;
      output.say(`The agent has disconnected; run ${runId} continues only while this process runs, because ${why}.`);
      continue;
    }
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const inputFile = join(folder, `${runId}.input.json`);
    await writeFile(inputFile, JSON.stringify(input), { mode: 0o600 });
    const budget = budgetMicros === null ? [] : ["--budget", formatUsd(budgetMicros)];
    const named = ["--id", runId, "--tag", AGENT_TAG, "--input", `@${inputFile}`];
    const args = ["run", `${source.file}#${source.exportName}`, ...named, ...budget];
    const child = io.background([...args, ...flagsFor(FOLLOWING, flags).flat()], join(folder, `${runId}.log`));
    output.say(
      `The agent has disconnected; run ${runId} continues in this process, and process ${child.pid} takes over if this one is killed.`,
    );
  }
}

const FOLLOWING = [...CARRIED, "families", "notify", "maxUnquoted", "inside", "files"] as const;

async function agentPipelines(folder: string, context: Context): Promise<readonly AgentPipeline[]> {
  const found = await pipelinesIn(await existingFolder(folder, context.io.cwd), context);
  if (found.length > 0) return found.map(({ pipeline, ...source }) => ({ name: pipeline.name, pipeline, source }));
  throw new CliError("PIPELINE_NOT_FOUND", `No file in ${visible(folder)} exports a pipeline`, { next: FOLDER });
}

const FOLDER = "pass the folder that contains your pipelines, such as: showrunner mcp pipelines";

async function existingFolder(folder: string, cwd: string): Promise<string> {
  const path = resolve(cwd, folder);
  if ((await kindOf(path)) === "folder") return path;
  throw usageError(`${visible(folder)} is not a folder`, FOLDER);
}
