import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

/** Refuses a run id that could not be the name of its log, before anything is opened. */
export function checkFileName(id: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id)) return;
  throw new CliError("USAGE", `--id ${visible(id)} is no run id`, {
    next: "use up to 100 letters, digits, dots, underscores and hyphens",
  });
}
