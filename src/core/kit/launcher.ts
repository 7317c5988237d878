/** All commands of the command-line tool. A test compares this list with the real commands. */
export const COMMANDS: readonly string[] = `
  run resume review-link worker stop approve reject adopt api reconcile plan runs show open events
  export report statement migrate serve record dashboard mcp notify check marks sign gc doctor init
  skills completion models jobs files balance help
`
  .trim()
  .split(/\s+/);

/** Matches `showrunner` before one of its commands or a flag, unless it is part of a path or follows `npx`. */
const COMMAND = new RegExp(`(?<![\\w./@-]|npx )showrunner (?=(?:${COMMANDS.join("|")})(?![\\w/-])|--[a-z])`, "g");

/** Replaces `showrunner` with the launcher (such as `npx showrunner`) in the commands that a text mentions. */
export function withLauncher(text: string, launcher: string): string {
  return launcher === "showrunner" ? text : text.replace(COMMAND, `${launcher} `);
}
