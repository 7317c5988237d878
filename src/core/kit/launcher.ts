/** The commands of the command line, as advice names them; a test compares them with those that it has. */
export const COMMANDS: readonly string[] = [
  "run",
  "resume",
  "review-link",
  "worker",
  "stop",
  "approve",
  "reject",
  "adopt",
  "api",
  "reconcile",
  "plan",
  "runs",
  "show",
  "open",
  "events",
  "export",
  "report",
  "statement",
  "migrate",
  "serve",
  "record",
  "dashboard",
  "mcp",
  "notify",
  "check",
  "marks",
  "sign",
  "gc",
  "doctor",
  "init",
  "skills",
  "completion",
  "models",
  "jobs",
  "files",
  "balance",
  "help",
];

/** `showrunner` before one of its commands or a flag; not in a path, and not where the launcher is there already. */
const COMMAND = new RegExp(`(?<![\\w./@-]|npx )showrunner (?=(?:${COMMANDS.join("|")})(?![\\w/-])|--[a-z])`, "g");

/** Text that names commands, with `npx showrunner` in place of `showrunner` where that is what a shell needs. */
export function withLauncher(text: string, launcher: string): string {
  return launcher === "showrunner" ? text : text.replace(COMMAND, `${launcher} `);
}
