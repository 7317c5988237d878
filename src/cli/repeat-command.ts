import { shellWord } from "../shell-word.ts";
import type { Context, ServiceFlags } from "./context.ts";

/** The command that was typed, with these words added; of a flag that is given twice the last one counts. */
export function repeatedCommand({ args }: Pick<Context, "args">, ...more: readonly string[]): string {
  return ["showrunner", ...[...args, ...more].map(shellWord)].join(" ");
}

/** Which journal and service a command was told to use, as words for the command that goes on from it. */
export function serviceFlags({ local, baseUrl, journal }: ServiceFlags): readonly string[] {
  return [
    ...(journal === undefined ? [] : [`--journal ${shellWord(journal)}`]),
    ...(baseUrl === undefined ? [] : [`--base-url ${shellWord(baseUrl)}`]),
    ...(local ? ["--local"] : []),
  ];
}
