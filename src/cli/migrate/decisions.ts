import { resolve } from "node:path";
import { writeDurably } from "../../core/kit/durable-file.ts";
import type { Decision, MigrationDecisions } from "../../migrate/index.ts";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { readNamed } from "../input/read-named.ts";
import { visible } from "../text/escape.ts";

/** Read where it exists, when no other file is named. */
const DEFAULT_FILE = "migrate.decisions.json";

/** What was decided before. A named file must be valid, or is created; the default one may be absent. */
export async function readDecisions({ io }: Context, named: string | undefined): Promise<MigrationDecisions> {
  const { DecisionsFileError, parseDecisions } = await import("../../migrate/index.ts");
  const file = named ?? DEFAULT_FILE;
  try {
    return parseDecisions((await readNamed(resolve(io.cwd, file))).toString(), file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { map: {}, leaveOut: [] };
    const next = "mend the file, or name another with --decisions";
    if (error instanceof DecisionsFileError)
      throw new CliError("USAGE", visible(error.message), { next, cause: error });
    const { message } = error as Error;
    throw new CliError("USAGE", `${visible(file)} cannot be read: ${visible(message)}`, { next, cause: error });
  }
}

/** Keeps what was decided: in the file that was named, or in the default one once a person has answered something. */
export async function keepDecisions(
  { io, output }: Context,
  { named, before, now }: { named: string | undefined; before: MigrationDecisions; now: MigrationDecisions },
): Promise<void> {
  const { formatDecisions } = await import("../../migrate/index.ts");
  const file = named ?? DEFAULT_FILE;
  if (formatDecisions(before) === formatDecisions(now)) return;
  await writeDurably(resolve(io.cwd, file), formatDecisions(now));
  output.say(`Decisions are stored in ${visible(file)}; the next migration reuses them.`);
}

/** Asks a person for each open model, voice and loss, once; returns what was decided. Asks nothing where nobody is. */
export async function askOpen(decisions: readonly Decision[], { io, output }: Context): Promise<MigrationDecisions> {
  const map: [string, string][] = [];
  const leaveOut: string[] = [];
  const { ask } = io;
  if (ask === null) return { map: {}, leaveOut };
  const asked = new Set<string>();
  for (const { answer: requested, where, question, choices: offered } of decisions) {
    if (requested === null || asked.has(requested.key)) continue;
    const { about, key } = requested;
    asked.add(key);
    output.say(visible(`${where[0]}: ${question}`));
    if (about === "loss") {
      const answer = await ask("leave it out (y, empty keeps it open): ");
      if (/^y(?:es)?$/i.test(answer.trim())) leaveOut.push(key);
      continue;
    }
    // A voice may also be chosen when the pipeline is run, which comes first; a name in parentheses is no part of an id.
    const choices = offered.slice(about === "voice" ? 1 : 0).map((choice) => choice.replace(/ \(.*\)$/, ""));
    for (const [index, choice] of choices.entries()) output.say(`  ${index + 1}  ${visible(choice)}`);
    const hint = about === "model" ? "number or id, empty keeps the first" : "number or id, empty leaves it open";
    const answer = (await ask(`${about} (${hint}): `)).trim();
    const chosen = /^\d+$/.test(answer) ? choices[Number(answer) - 1] : answer;
    const stored = chosen || (about === "model" ? choices[0] : "");
    if (stored) map.push([key, stored]);
  }
  return { map: Object.fromEntries(map), leaveOut };
}
