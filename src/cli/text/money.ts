import { parseUsd } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import { visible } from "./escape.ts";

/** Refuses an amount of dollars that is none, before anything is opened. */
export function checkAmount(flag: string, value: string | undefined): void {
  if (value === undefined || parseDollars(value) !== null) return;
  throw new CliError("USAGE", `${flag} ${visible(value)} is no amount of US dollars`, {
    next: `write it as ${flag} 5 or ${flag} 2.50`,
  });
}

/** A decimal amount of dollars typed by a person, with or without its sign; null for what is no amount. */
export function parseDollars(text: string): number | null {
  return parseUsd(text.trim().replace(/^\$/, ""));
}
