import type { MigrationQuestion } from "../../index.ts";
import type { Context } from "../context.ts";
import { visible } from "../text/escape.ts";

/** Asks a person for each open model and voice, once; returns what was answered. Asks nothing where nobody is. */
export async function askOpen(
  questions: readonly MigrationQuestion[],
  { io, talk }: Context,
): Promise<{ readonly [v2: string]: string }> {
  const answers: [string, string][] = [];
  if (io.ask === null) return {};
  for (const { key, about, question, choices } of questions) {
    talk.say(visible(question));
    for (const [index, choice] of choices.entries()) talk.say(`  ${index + 1}  ${visible(choice)}`);
    const hint = about === "model" ? "number or id, empty keeps the first" : "number or id, empty leaves it open";
    const answer = (await io.ask(`${about} (${hint}): `)).trim();
    const chosen = /^\d+$/.test(answer) ? choices[Number(answer) - 1] : answer;
    const kept = chosen || (about === "model" ? choices[0] : "");
    if (kept) answers.push([key, kept]);
  }
  return Object.fromEntries(answers);
}
