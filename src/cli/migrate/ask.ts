import type { MigrationDecisions, Question } from "../../migrate/index.ts";
import type { Context } from "../context.ts";
import { visible } from "../text/escape.ts";

/** Asks a person for each open model, voice and loss, once; returns what was decided. Asks nothing where nobody is. */
export async function askOpen(questions: readonly Question[], { io, output }: Context): Promise<MigrationDecisions> {
  const map: [string, string][] = [];
  const leaveOut: string[] = [];
  const { ask } = io;
  if (ask === null) return { map: {}, leaveOut };
  for (const { key, about, question, choices } of questions) {
    output.say(visible(question));
    if (about === "loss") {
      const answer = await ask("leave it out (y, empty keeps it open): ");
      if (/^y(?:es)?$/i.test(answer.trim())) leaveOut.push(key);
      continue;
    }
    for (const [index, choice] of choices.entries()) output.say(`  ${index + 1}  ${visible(choice)}`);
    const hint = about === "model" ? "number or id, empty keeps the first" : "number or id, empty leaves it open";
    const answer = (await ask(`${about} (${hint}): `)).trim();
    const chosen = /^\d+$/.test(answer) ? choices[Number(answer) - 1] : answer;
    const stored = chosen || (about === "model" ? choices[0] : "");
    if (stored) map.push([key, stored]);
  }
  return { map: Object.fromEntries(map), leaveOut };
}
