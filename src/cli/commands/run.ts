import { randomUUID } from "node:crypto";
import { dollars, parseUsd } from "../../core/kit/money.ts";
import { isRunFinal, type RunRow } from "../../core/view/index.ts";
import { OverBudgetError, type Quote } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { openEngine } from "../engine.ts";
import { checkFileName, inputSchema, readInput } from "../input/read-input.ts";
import { agreedPrice, checkRunFlags, quoteOptions, runOptions, withProfileService } from "../input/run-options.ts";
import { isAgreed } from "../io.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { priceTable } from "../report/price-table.ts";
import { visible, visibleError } from "../text/escape.ts";
import { type Detached, detach } from "./detach.ts";
import { followRun, watching } from "./follow.ts";
import { reportProblems } from "./plan.ts";

export async function run(context: Context, spec: string, given: Flags["run"]): Promise<ExitCode> {
  const { io, output } = context;
  checkRunFlags(given);
  const loaded = await loadPipeline(spec, io.cwd);
  const flags = withProfileService(given, loaded.pipeline);
  if (flags.each !== undefined) return (await import("./run-each.ts")).runRows(context, loaded, flags);
  const input = await readInput(flags, io, await inputSchema(loaded.pipeline));
  const options = runOptions(flags, loaded);
  if (flags.detach && flags.id !== undefined) checkFileName(flags.id);
  const outcome = await withShowrunner(flags, async (show): Promise<ExitCode | Omit<Detached, "runId">> => {
    sayWhere(show, context);
    const known = flags.id === undefined ? undefined : (await show.runs()).find(({ runId }) => runId === flags.id);
    if (known !== undefined && flags.onExisting === "fail") {
      const next = `showrunner resume ${known.runId}   (or choose another --id)`;
      throw usageError(`Run ${visible(known.runId)} already exists (${known.status})`, next);
    }
    const isHanded = flags.detach === true && flags.engine !== undefined;
    if (known !== undefined && !isHanded) {
      const isOver = isRunFinal(known.status);
      const again = { ...options, budget: flags.budget };
      if (flags.detach && !isOver) {
        // With an id that exists, `start` only checks that plan and input are the same.
        await show.start(loaded.pipeline, input, again);
        const isDriven = known.status === "running" || known.status === "planned";
        return isDriven ? sayDriven(known, context) : { known };
      }
      const handle = await show.run(loaded.pipeline, input, again);
      output.say(
        `Run ${visible(known.runId)} already exists (${known.status}): ${isOver ? "nothing was started" : "it continues"}.`,
      );
      return followRun(handle, context, { ...watching(show), afterSeq: known.lastSeq });
    }
    const quote = await show.quote(loaded.pipeline, input, {
      ...quoteOptions(flags),
      keep: flags.quote === undefined && flags.budget === undefined,
    });
    if (!quote.ok) return reportProblems(quote.problems, context, flags.baseUrl);
    output.say(`\n${priceTable(quote, io.stderr.columns)}\n`);
    const isAgreed = flags.budget !== undefined || flags.quote !== undefined;
    const budget = flags.budget ?? (isAgreed ? null : await agreedPrice(show, quote, context));
    // A yes on the terminal covers exactly the prices shown.
    const agreedTo = flags.quote ?? (isAgreed || budget === null ? null : quote.id);
    const startAnyway = await startsAnyway(quote, flags, context);
    const agreed = {
      ...options,
      ...(budget !== null && { budget }),
      ...(agreedTo !== null && { quote: agreedTo }),
      startAnyway,
    };
    if (isHanded) return startElsewhere(context, flags, await show.start(loaded.pipeline, input, agreed));
    if (flags.detach) {
      const budgetMicros = budget === null ? null : parseUsd(budget);
      if (budgetMicros !== null && quote.expectedMicros > budgetMicros)
        throw new OverBudgetError(quote.expectedMicros, budgetMicros);
      return { budget, quote: agreedTo, startAnyway };
    }
    const handle = await show.run(loaded.pipeline, input, agreed);
    output.say(`Run ${handle.id}`);
    return followRun(handle, context, watching(show));
  });
  if (typeof outcome === "number") return outcome;
  const runId = flags.id ?? `${loaded.pipeline.name}-${randomUUID().slice(0, 8)}`;
  return detach(context, { runId, ...outcome }, flags);
}

async function startElsewhere(
  context: Context,
  flags: Flags["run"],
  { id }: { readonly id: string },
): Promise<ExitCode> {
  const { output } = context;
  const engine = await openEngine(context, flags);
  await engine.wake(id).catch((error: unknown) => {
    output.say(`${visibleError(error)}. The run is in the journal, so a worker will find it within seconds.`);
  });
  await engine.close();
  output.result({ id, engine: flags.engine }, visible(id));
  output.say(`Run ${visible(id)} was handed to the workers of engine ${flags.engine}.`);
  output.next(
    `showrunner events ${visible(id)} --follow`,
    `showrunner worker --engine ${flags.engine}   (if no worker is running)`,
  );
  return ExitCode.done;
}

function sayDriven({ runId, status }: RunRow, { output }: Context): ExitCode {
  output.result({ id: runId, pid: null, log: null }, visible(runId));
  output.say(
    `Run ${visible(runId)} already exists (${status}): another process is executing it, so nothing was started.`,
  );
  output.next(`showrunner events ${visible(runId)} --follow`);
  return ExitCode.done;
}

async function startsAnyway(
  { balanceMicros, totalMicros }: Quote,
  flags: Flags["run"],
  { io }: Context,
): Promise<boolean> {
  if (flags.startAnyway === true) return true;
  if (balanceMicros === null || balanceMicros >= totalMicros.min) return false;
  const has = `The wallet holds ${dollars(balanceMicros, Math.floor)} and the plan costs at least ${dollars(totalMicros.min, Math.ceil)}`;
  return isAgreed(io, `${has}. Start anyway, and pause when the wallet is empty?`);
}
