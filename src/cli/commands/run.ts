import { randomUUID } from "node:crypto";
import { dollars } from "../../core/kit/money.ts";
import type { Quote, RunRow, Showrunner } from "../../internal.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { openEngine } from "../engine.ts";
import { isAgreed } from "../input/confirm.ts";
import { checkRunFlags } from "../input/engine-flags.ts";
import { agreedPrice, quoteOptions, runOptions, withProfileService } from "../input/quote-options.ts";
import { checkFileName, inputSchema, readInput } from "../input/read-input.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { priceTable } from "../report/price-table.ts";
import { visible, visibleError } from "../text/escape.ts";
import { detach } from "./detach.ts";
import { followRun } from "./follow.ts";
import { reportProblems } from "./plan.ts";

export async function run(context: Context, spec: string, given: Flags["run"]): Promise<ExitCode> {
  const { io, output } = context;
  checkRunFlags(given);
  const loaded = await loadPipeline(spec, io.cwd);
  const flags = withProfileService(given, loaded.pipeline);
  if (flags.each !== undefined) return (await import("./run-each.ts")).runRows(context, loaded, flags);
  const input = await readInput(flags, io, { schema: await inputSchema(loaded.pipeline) });
  const options = runOptions(flags, loaded);
  if (flags.detach && flags.id !== undefined) checkFileName(flags.id);
  const outcome = await withShowrunner(flags, async (show): Promise<ExitCode | Agreed> => {
    sayWhere(show, context);
    const known = flags.detach ? undefined : await runNamed(show, flags.id);
    if (known !== undefined && flags.onExisting === "fail") {
      const next = `showrunner resume ${known.runId}   (or choose another --id)`;
      throw usageError(`Run ${visible(known.runId)} already exists (${known.status})`, next);
    }
    if (known !== undefined) {
      const handle = await show.run(loaded.pipeline, input, { ...options, budget: flags.budget });
      const what = known.status === "succeeded" ? "nothing is started" : "it continues";
      output.say(`Run ${visible(known.runId)} exists (${known.status}): ${what}.`);
      return followRun(handle, context, { json: flags.json, afterSeq: known.lastSeq, pace: () => show.client.pace() });
    }
    const quote = await show.quote(loaded.pipeline, input, {
      ...quoteOptions(flags),
      keep: flags.quote === undefined && flags.budget === undefined,
    });
    if (!quote.ok) return reportProblems(quote.problems, context, flags);
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
    if (flags.detach && flags.engine !== undefined) {
      return startElsewhere(context, flags, await show.start(loaded.pipeline, input, agreed));
    }
    if (flags.detach) return { budget, quote: agreedTo, startAnyway };
    const handle = await show.run(loaded.pipeline, input, agreed);
    output.say(`Run ${handle.id}`);
    return followRun(handle, context, {
      json: flags.json,
      expectedMs: (step) => show.expectedMs(step),
      pace: () => show.client.pace(),
    });
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
  if (flags.json) output.printJson({ id, engine: flags.engine });
  else output.print(visible(id));
  output.say(`Run ${visible(id)} was handed to the workers of engine ${flags.engine}.`);
  output.next(
    `showrunner events ${visible(id)} --follow`,
    `showrunner worker --engine ${flags.engine}   (if no worker is running)`,
  );
  return ExitCode.done;
}

interface Agreed {
  readonly budget: string | null;
  readonly quote: string | null;
  readonly startAnyway: boolean;
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

async function runNamed(show: Showrunner, id: string | undefined): Promise<RunRow | undefined> {
  return id === undefined ? undefined : (await show.runs()).find(({ runId }) => runId === id);
}
