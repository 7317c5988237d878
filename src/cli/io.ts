import { styleText } from "node:util";
import { withLauncher } from "../core/kit/launcher.ts";
import { CliError } from "./cli-error.ts";
import { withoutControl } from "./text/escape.ts";
import { inSentence, nextLines } from "./text/next-line.ts";

export interface TextOutput {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  /** Width in characters. Undefined if the output is not a terminal. */
  readonly columns?: number;
  readonly rows?: number;
}

export interface Background {
  readonly pid: number | undefined;
  readonly ended: Promise<number | null>;
}

export interface Io {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  /** Standard input. Commands read it only if the value of a flag is `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly ask: ((question: string) => Promise<string>) | null;
  readonly background: ((args: readonly string[], logFile: string) => Background) | null;
  readonly open: ((file: string) => Promise<void>) | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The command that starts this program: `showrunner` or `npx showrunner`. */
  readonly launcher: string;
  /** Aborted by the first Ctrl-C. If nothing has read this field yet, Ctrl-C ends the process instead. */
  readonly interrupt: AbortSignal;
}

type Style = Parameters<typeof styleText>[0];

export interface CommandOutput {
  /** Whether `--json` was given. If true, stdout gets only JSON documents; otherwise, only text. */
  readonly isJson: boolean;
  print(text: string): void;
  /** Prints a line to stdout. Completes commands in it with `npx`, if needed, and with the flags from `carry`. */
  tell(text: string): void;
  printJson(document: unknown): void;
  /** Prints a document on one line, for commands that print several documents. */
  printJsonLine(document: unknown): void;
  /** Prints the document if `--json` was given, and the text otherwise. */
  result(document: unknown, text: string): void;
  /** Prints an error document, unless the command has already printed a document. */
  refuse(document: unknown): void;
  /** Like `tell`, but prints to stderr. */
  say(text: string): void;
  next(...steps: readonly string[]): void;
  /** Adds these flags to every command suggested from now on. */
  carry(flags: readonly string[]): void;
  paint(style: Style, text: string): string;
}

export function createOutput(io: Io, isJson = false): CommandOutput {
  const colour = hasColour(io.stderr, io.env);
  const { launcher } = io;
  let flags: readonly string[] = [];
  let printed: "nothing" | "lines" | "document" = "nothing";
  const line = (text: string) => `${withLauncher(inSentence(text, flags), launcher)}\n`;
  const print = (text: string) => {
    if (!isJson) io.stdout.write(withoutControl(text));
  };
  const printDocument = (kind: "lines" | "document", text: string) => {
    if (!isJson) return;
    printed = kind;
    io.stdout.write(withoutControl(`${text}\n`));
  };
  const printJson = (document: unknown) => printDocument("document", JSON.stringify(document, null, 2));
  const printJsonLine = (document: unknown) => printDocument("lines", JSON.stringify(document));
  return {
    isJson,
    print: (text) => print(`${text}\n`),
    tell: (text) => print(line(text)),
    printJson,
    printJsonLine,
    result(document, text) {
      printJson(document);
      print(`${text}\n`);
    },
    refuse(document) {
      if (printed === "nothing") printJson(document);
      else if (printed === "lines") printJsonLine(document);
    },
    say: (text) => io.stderr.write(withoutControl(line(text))),
    next(...steps) {
      const lines = steps.flatMap((step) => nextLines(step, { launcher, flags }));
      const shown = lines.map((line, index) => `${index === 0 ? "Next: " : "      "}${line}\n`);
      io.stderr.write(withoutControl(shown.join("")));
    },
    carry(given) {
      flags = given;
    },
    paint: (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text),
  };
}

function hasColour(output: TextOutput, env: Io["env"]): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0";
  return output.isTTY === true && env.TERM !== "dumb";
}

interface Question {
  readonly yes?: boolean;
  readonly question: string;
  readonly what: string;
  readonly refused: string;
  readonly next: string;
}

export async function confirm(io: Pick<Io, "ask">, { yes, question, what, refused, next }: Question): Promise<void> {
  if (yes || (await isAgreed(io, question))) return;
  const message = io.ask === null ? `${what}, but you cannot confirm this without a terminal` : refused;
  throw new CliError("NOT_CONFIRMED", message, { next });
}

export async function isAgreed({ ask }: Pick<Io, "ask">, question: string): Promise<boolean> {
  return ask !== null && isYes(await ask(`${question} [y/N] `));
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
