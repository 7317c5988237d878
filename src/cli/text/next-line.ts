import { withoutPassword } from "../../core/kit/journal-location.ts";
import { withLauncher } from "../../core/kit/launcher.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { visible } from "./escape.ts";

const withoutService = new Set(["serve", "init", "completion", "migrate"]);

/** Splits a suggestion into the command to paste and a note, and adds flags to the command. */
export function nextLines(
  text: string,
  { launcher, flags }: { readonly launcher: string; readonly flags: readonly string[] },
): readonly string[] {
  const [, first = text, note] = /^(\S.*?) {2,}(\(.*\))$/s.exec(text) ?? [];
  const lines = note === undefined ? [first] : [first, note];
  return lines.map((line) => withLauncher(inSentence(withFlags(line, flags), flags), launcher));
}

const WITHIN =
  /(?<![\w./@-])showrunner (?:resume|approve|reject|adopt|show|open|events|report|export|runs|reconcile|stop|dashboard)(?![\w/-])(?!.* --journal)/g;

export function inSentence(text: string, flags: readonly string[]): string {
  const journal = flags.find((flag) => flag.startsWith("--journal "));
  return journal === undefined ? text : text.replace(WITHIN, (command) => `${command} ${journal}`);
}

/** Joins a command and its note into the text that {@link nextLines} splits. */
export function commandLine({ command, note }: { readonly command: string; readonly note: string | null }): string {
  return visible(note === null ? command : `${command}   (${note})`);
}

function withFlags(command: string, flags: readonly string[]): string {
  const [program, verb = ""] = command.split(" ");
  const isPlain = verb.startsWith("-") || withoutService.has(verb) || command.endsWith(" --help");
  if (program !== "showrunner" || isPlain) return command;
  const fitting = flags.filter(
    (flag) => spending.has(verb) || !/^--(?:cap|cap-time-zone|spending-cap|wallet-floor) /.test(flag),
  );
  return [command, ...fitting.filter((flag) => !isSet(flag, command))].join(" ");
}

const spending = new Set(["run", "resume", "approve", "reject", "worker", "mcp", "dashboard", "balance"]);

function isSet(flag: string, command: string): boolean {
  const [name = ""] = flag.split(" ");
  if (name !== "--cap") return `${command} `.includes(` ${name} `);
  const asked = scopeOf(flag.slice("--cap ".length));
  return [...command.matchAll(/ --cap ((?:'[^']*'|\\.|[^\s'])+)/g)].some(([, cap = ""]) => {
    const scope = scopeOf(cap);
    return scope === asked || scope.replace(/=.*:/, "=*:") === asked;
  });
}

/**
 * Returns the tag and period of a cap, such as `customer=acme:/day`. A cap replaces another only if these are equal.
 */
function scopeOf(cap: string): string {
  return cap.replaceAll("'", "").replace(/[^:/]+(\/day)?$/, "$1");
}

/**
 * Returns the command as typed, plus `more`. If `more` is a flag with a value, it replaces that flag in the typed
 * command.
 */
export function repeatedCommand({ args }: { readonly args: readonly string[] }, ...more: readonly string[]): string {
  return ["showrunner", ...[...without(more, args), ...more].map(typedAgain)].join(" ");
}

export function runInstead({ args }: { readonly args: readonly string[] }, ...more: readonly string[]): string {
  const stored = args.slice(1).filter((word, at, all) => {
    const isFlag = /^--(against|svg)$/.test(all[at - 1] ?? "") || /^--(against|svg)(=|$)/.test(word);
    return !isFlag && word !== "--mermaid" && word !== "--json";
  });
  return repeatedCommand({ args: ["run", ...stored] }, ...more);
}

function without([flag, value]: readonly string[], args: readonly string[]): readonly string[] {
  if (flag === undefined || value === undefined) return args;
  return args.filter((arg, at) => arg !== flag && args[at - 1] !== flag && !arg.startsWith(`${flag}=`));
}

function typedAgain(word: string): string {
  return shellWord(withoutPassword(word));
}

export const CARRIED = [
  "journal",
  "service",
  "baseUrl",
  "local",
  "cap",
  "capTimeZone",
  "spendingCap",
  "walletFloor",
] as const;

type GivenOptions<N extends string> = { readonly [K in N]?: string | boolean | readonly string[] | undefined };

export function serviceFlags(options: GivenOptions<(typeof CARRIED)[number]>): readonly string[] {
  return flagsFor(CARRIED, options).map((flag) => flag.map(typedAgain).join(" "));
}

export function flagName(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function flagsFor<N extends string>(
  names: readonly N[],
  options: GivenOptions<NoInfer<N>>,
): readonly (readonly string[])[] {
  return names.flatMap((name) => {
    const flag = `--${flagName(name)}`;
    const given: GivenOptions<string>[string] = options[name];
    const values = [given ?? []].flat();
    return values.flatMap((value) => (value === true ? [[flag]] : value === false ? [] : [[flag, value]]));
  });
}
