import { withoutPassword } from "../../core/kit/journal-location.ts";
import { withLauncher } from "../../core/kit/launcher.ts";
import { shellWord } from "../../core/kit/shell-word.ts";
import { visible } from "./escape.ts";

/** Commands that neither read a journal nor call a service. */
const withoutService = new Set(["serve", "init", "completion", "migrate"]);

export interface Suggesting {
  /** What a shell needs here to start this command line. */
  readonly launcher: string;
  /** Flags of the command that was typed which the next one needs too, such as `--journal FILE`. */
  readonly flags: readonly string[];
}

/**
 * What to type next, split into the command to paste and the remark about it: `showrunner show x   (its steps)` becomes
 * two lines. A command reaches the same journal and service as the one that suggests it.
 */
export function nextLines(text: string, { launcher, flags }: Suggesting): readonly string[] {
  const [, first = text, note] = /^(\S.*?) {2,}(\(.*\))$/s.exec(text) ?? [];
  const lines = note === undefined ? [first] : [first, note];
  return lines.map((line) => withLauncher(inSentence(withFlags(line, flags), flags), launcher));
}

/** Commands that are about a run or a journal, within a sentence that names no journal. */
const WITHIN =
  /(?<![\w./@-])showrunner (?:resume|approve|reject|adopt|show|open|events|report|export|runs|reconcile|stop|dashboard)(?![\w/-])(?!.* --journal)/g;

/** A sentence whose commands reach the journal that was given. */
export function inSentence(text: string, flags: readonly string[]): string {
  const journal = flags.find((flag) => flag.startsWith("--journal "));
  return journal === undefined ? text : text.replace(WITHIN, (command) => `${command} ${journal}`);
}

/** A command and its remark, as {@link nextLines} takes them. */
export function commandLine({ command, note }: { readonly command: string; readonly note: string | null }): string {
  return visible(note === null ? command : `${command}   (${note})`);
}

function withFlags(command: string, flags: readonly string[]): string {
  const [program, verb = ""] = command.split(" ");
  const isPlain = verb.startsWith("-") || withoutService.has(verb) || command.endsWith(" --help");
  if (program !== "showrunner" || isPlain) return command;
  const missing = flags.filter((flag) => !command.includes(` ${flag.split(" ")[0]}`));
  return [command, ...missing].join(" ");
}

/** The command that was typed, with these words added; of a flag that is given twice the last one counts. */
export function repeatedCommand({ args }: { readonly args: readonly string[] }, ...more: readonly string[]): string {
  return ["showrunner", ...[...without(more, args), ...more].map(typedAgain)].join(" ");
}

/** The `plan` that was typed as `run`, with these words added, without the flags that only `plan` has. */
export function runInstead({ args }: { readonly args: readonly string[] }, ...more: readonly string[]): string {
  const stored = args.slice(1).filter((word, at, all) => {
    const isFlag = /^--(against|svg)$/.test(all[at - 1] ?? "") || /^--(against|svg)(=|$)/.test(word);
    return !isFlag && word !== "--mermaid" && word !== "--json";
  });
  return repeatedCommand({ args: ["run", ...stored] }, ...more);
}

/** Without the earlier value of a flag that is given another. */
function without([flag, value]: readonly string[], args: readonly string[]): readonly string[] {
  if (flag === undefined || value === undefined) return args;
  return args.filter((arg, at) => arg !== flag && args[at - 1] !== flag && !arg.startsWith(`${flag}=`));
}

function typedAgain(word: string): string {
  return shellWord(withoutPassword(word));
}

/** Which journal and service a command was given, as words for the command that continues from it. */
export function serviceFlags({
  local,
  service,
  baseUrl,
  journal,
}: {
  readonly local?: boolean | undefined;
  readonly service?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly journal?: string | undefined;
}): readonly string[] {
  return [
    ...(journal === undefined ? [] : [`--journal ${typedAgain(journal)}`]),
    ...(service === undefined ? [] : [`--service ${shellWord(service)}`]),
    ...(baseUrl === undefined ? [] : [`--base-url ${shellWord(baseUrl)}`]),
    ...(local ? ["--local"] : []),
  ];
}
