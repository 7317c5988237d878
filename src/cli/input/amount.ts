import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";
import { parseDollars } from "../text/money.ts";

/** Refuses an amount of dollars that is none, before anything is opened. */
export function checkAmount(flag: string, value: string | undefined): void {
  if (value === undefined || parseDollars(value) !== null) return;
  throw new CliError("USAGE", `${flag} ${visible(value)} is no amount of US dollars`, {
    next: `write it as ${flag} 5 or ${flag} 2.50`,
  });
}
