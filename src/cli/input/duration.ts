import { CliError } from "../cli-error.ts";
import { parseDuration } from "../text/duration.ts";
import { visible } from "../text/escape.ts";

/** Milliseconds of a flag's duration; refuses what is none, before anything is opened. */
export function readDuration(flag: string, text: string, examples: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new CliError("USAGE", `${flag} ${visible(text)} is no duration`, { next: `write it as ${flag} ${examples}` });
}
