import { InvalidOptionError } from "../errors.ts";

/**
 * Where news go: a URL that is posted to, or a command that gets them as JSON on its stdin. As text `https://…` or
 * `command:program argument …`; `off` or false: nowhere, whatever the environment says.
 */
export type NotifyOption = string | { readonly url: string } | { readonly command: readonly string[] } | false;

export type NotifyTarget =
  | { readonly kind: "webhook"; readonly url: string }
  | { readonly kind: "command"; readonly argv: readonly [string, ...string[]] };

type Env = Readonly<Record<string, string | undefined>>;

/** By option, else by SHOWRUNNER_NOTIFY_URL or SHOWRUNNER_NOTIFY_COMMAND; null: no notifications. */
export function notifyTarget(given: NotifyOption | undefined, env: Env): NotifyTarget | null {
  if (given !== undefined) return ofOption(given);
  const { SHOWRUNNER_NOTIFY_URL: url, SHOWRUNNER_NOTIFY_COMMAND: command } = env;
  if (url && command) {
    throw new InvalidOptionError("SHOWRUNNER_NOTIFY_URL", "is set, and so is SHOWRUNNER_NOTIFY_COMMAND; unset one.");
  }
  if (url) return webhook(url, "SHOWRUNNER_NOTIFY_URL");
  return command ? ofCommand(split(command), "SHOWRUNNER_NOTIFY_COMMAND") : null;
}

/** A target fit for messages: an address may be a secret by its path. */
export function shownTarget(target: NotifyTarget): string {
  return target.kind === "webhook" ? new URL(target.url).origin : `command ${target.argv[0]}`;
}

function ofOption(given: NotifyOption): NotifyTarget | null {
  if (given === false || given === "off") return null;
  if (typeof given !== "string") {
    return "url" in given ? webhook(given.url, "notify") : ofCommand(given.command, "notify");
  }
  return given.startsWith("command:") ? ofCommand(split(given.slice(8)), "notify") : webhook(given, "notify");
}

function webhook(text: string, option: string): NotifyTarget {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === "https:" || url?.protocol === "http:") return { kind: "webhook", url: url.href };
  throw new InvalidOptionError(option, "give an http or https URL, or command:program with its arguments.");
}

function ofCommand([program, ...rest]: readonly string[], option: string): NotifyTarget {
  if (program) return { kind: "command", argv: [program, ...rest] };
  throw new InvalidOptionError(option, "names no program; give one with its arguments, such as notify-send done.");
}

/** Words between spaces; quotes keep spaces in a word. Nothing is expanded: no shell reads it. */
function split(text: string): readonly string[] {
  const words = text.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}
