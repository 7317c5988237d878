import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

/** A whole number from 0 to `most`; `example` is one that would do. */
export function wholeNumber(flag: string, text: string, most: number, example: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= most) return number;
  throw new CliError("USAGE", `${flag} ${visible(text)} is no number from 0 to ${most}`, {
    next: `write it as ${flag} ${example}`,
  });
}
