import type { AdoptionCandidate, UnresolvedStep } from "../../index.ts";
import { dollars } from "../../money.ts";
import type { CommandOutput } from "../output.ts";
import { visible } from "../text/escape.ts";
import { shorten, table } from "../text/table.ts";

const PROMPT_LENGTH = 120;
/** Jobs that nothing speaks for are a list of their own length: the likeliest come first. */
const MOST_LISTED = 20;

/** What is not known, in a line. */
export function questionLine(one: UnresolvedStep, output: CommandOutput): string {
  const { step, model, prompt, holdMicros, sentFrom, sentTo, decided } = one;
  const requested = prompt === null ? "" : ` for ${shorten(visible(JSON.stringify(prompt)), PROMPT_LENGTH)}`;
  const when = `sent between ${sentFrom} and ${sentTo} by the service's clock`;
  const said = decided === null ? "" : ` Decided already: ${visible(decided.jobId ?? "none")}.`;
  return `${output.paint(["bold", "yellow"], visible(step))}: requested ${visible(model)}${requested}, ${dollars(holdMicros)} reserved, ${when}.${said}`;
}

/** The jobs that it may have created; `*` marks the unambiguous one. */
export function candidateText({ candidates, certain }: UnresolvedStep, width?: number): string {
  const shown = candidates.slice(0, MOST_LISTED);
  const rows = shown.map((candidate, index) => ({
    ...candidate,
    n: index + 1,
    isCertain: candidate.jobId === certain,
  }));
  const text = table(rows, columns, width);
  const more = candidates.length - shown.length;
  return more === 0 ? text : `${text}\nand ${more} more: --json lists them all`;
}

interface Row extends AdoptionCandidate {
  readonly n: number;
  readonly isCertain: boolean;
}

const columns = [
  { title: "", value: ({ n, isCertain }: Row) => `${n}${isCertain ? "*" : ""}` },
  { title: "job", value: ({ jobId }: Row) => visible(jobId) },
  { title: "match", value: matchText },
  { title: "prompt", value: ({ prompt }: Row) => shorten(visible(prompt ?? "–"), PROMPT_LENGTH), flexible: true },
  { title: "status", value: ({ status }: Row) => visible(String(status)) },
  { title: "cost", value: ({ costMicros }: Row) => (costMicros === null ? "–" : dollars(costMicros)), align: "right" },
  { title: "created", value: ({ createdAt }: Row) => visible(createdAt ?? "–"), flexible: true },
] as const;

function matchText({ match, likeness }: Row): string {
  return match === "unlike" && likeness !== null ? `${Math.round(likeness * 100)} %` : match;
}

/** An empty list is no proof: who takes it for one gives up a job that was paid for. */
export function emptyLines({ holdMicros }: UnresolvedStep): readonly string[] {
  return [
    "The service lists no job of its model in that time that no run knows.",
    `This is no proof that none was created: another key's jobs may be hidden from this one. Giving it up with none may give up a job that ${dollars(holdMicros)} was paid for.`,
  ];
}
