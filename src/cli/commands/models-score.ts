import { formatDuration } from "../../core/kit/duration.ts";
import { dollars } from "../../core/kit/money.ts";
import type { ModelScore, ScoredPart } from "../../internal.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, journalOf, type ServiceFlags } from "../context.ts";
import { tagsOf } from "../input/flag-values.ts";
import { wireForm } from "../service/present.ts";
import { visible } from "../text/escape.ts";
import { type Column, counted, table } from "../text/table.ts";

export interface ModelsScoreFlags extends ServiceFlags {
  readonly tag?: readonly string[];
  readonly pipeline?: string;
}

const columns: readonly Column<ModelScore>[] = [
  { title: "model", value: ({ models }) => visible(models.join(" + ")), flexible: true },
  { title: "chosen", value: ({ chosen, compared }) => `${chosen} of ${compared}`, align: "right" },
  { title: "made nothing", value: ({ madeNothing }) => String(madeNothing), align: "right" },
  { title: "cost", value: ({ costMicros }) => dollars(costMicros), align: "right" },
  { title: "mean", value: ({ meanCostMicros: mean }) => (mean === null ? "–" : dollars(mean)), align: "right" },
  { title: "took, mean", value: ({ meanMs }) => (meanMs === null ? "–" : formatDuration(meanMs)), align: "right" },
];

/** `showrunner models score`: which models people chose in comparisons, from the journal alone. */
export async function modelsScore({ io, output }: Context, flags: ModelsScoreFlags): Promise<ExitCode> {
  const { loadRun, openJournal, scoredParts, scoreModels } = await import("../../internal.ts");
  const tags = tagsOf(flags.tag);
  const parts: ScoredPart[] = [];
  const journal = await openJournal(journalOf(io, flags));
  try {
    const rows = await journal.runs({ tags });
    for (const { runId } of rows.filter(({ pipeline }) => pipeline === (flags.pipeline ?? pipeline))) {
      parts.push(...scoredParts(await loadRun(journal, runId)));
    }
  } finally {
    await journal.close();
  }
  const scores = scoreModels(parts);
  if (flags.json) output.printJson(wireForm(scores.map(inSeconds)));
  else if (scores.length > 0) output.print(table(scores, columns, io.stdout.columns));
  if (scores.length > 0) output.say(`${counted(parts.length, "part")} of comparisons that were decided.`);
  else {
    const isNarrowed = tags !== undefined || flags.pipeline !== undefined;
    output.say(
      `No comparison was decided${isNarrowed ? " in these runs" : " yet"}: a pipeline asks for one with compare(name, parts).`,
    );
    output.next("showrunner approve   (lists the choices that wait)");
  }
  return ExitCode.done;
}

function inSeconds({ meanMs, ...score }: ModelScore) {
  return { ...score, meanSeconds: meanMs === null ? null : meanMs / 1000 };
}
