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
  /** Read only for a flag whose value is `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly ask: ((question: string) => Promise<string>) | null;
  readonly background: ((args: readonly string[], logFile: string) => Background) | null;
  readonly open: ((file: string) => Promise<void>) | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The command that starts this program: `showrunner` or `npx showrunner`. */
  readonly launcher: string;
  /** Reading this field makes the first Ctrl-C abort the signal, not the process. */
  readonly interrupt: AbortSignal;
}

type Style = Parameters<typeof styleText>[0];

export interface CommandOutput {
  print(text: string): void;
  /** Prints a line to stdout, and adds the launcher and flags to commands in it. */
  tell(text: string): void;
  printJson(document: unknown): void;
  /** Prints one of several documents, each on a line of its own. */
  printJsonLine(document: unknown): void;
  /** Prints the JSON document of a refusal, unless the command has already printed text or a single document. */
  refuse(document: unknown): void;
  /** Like `tell`, but prints to stderr. */
  say(text: string): void;
  next(...steps: readonly string[]): void;
  /** Adds these flags to every command suggested from now on. */
  carry(flags: readonly string[]): void;
  paint(style: Style, text: string): string;
}

export function createOutput(io: Io): CommandOutput {
  const colour = hasColour(io.stderr, io.env);
  const { launcher } = io;
  let flags: readonly string[] = [];
  let printed: "nothing" | "lines" | "text" = "nothing";
  const line = (text: string) => `${withoutControl(withLauncher(inSentence(text, flags), launcher))}\n`;
  const write = (text: string) => {
    printed = "text";
    io.stdout.write(text);
  };
  const printJson = (document: unknown) => write(`${withoutControl(JSON.stringify(document, null, 2))}\n`);
  const printJsonLine = (document: unknown) => {
    write(`${withoutControl(JSON.stringify(document))}\n`);
    printed = "lines";
  };
  return {
    print: (text) => write(`${withoutControl(text)}\n`),
    printJson,
    printJsonLine,
    refuse(document) {
      if (printed === "nothing") printJson(document);
      else if (printed === "lines") printJsonLine(document);
    },
    tell: (text) => write(line(text)),
    say: (text) => io.stderr.write(line(text)),
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
  readonly yes: boolean;
  readonly question: string;
  readonly what: string;
  readonly refused: string;
  readonly next: string;
}

export async function confirm(io: Pick<Io, "ask">, { yes, question, what, refused, next }: Question): Promise<void> {
  if (yes || (await isAgreed(io, question))) return;
  const message = io.ask === null ? `${what}, but there is no terminal to confirm it on` : refused;
  throw new CliError("NOT_CONFIRMED", message, { next });
}

export async function isAgreed({ ask }: Pick<Io, "ask">, question: string): Promise<boolean> {
  return ask !== null && isYes(await ask(`${question} [y/N] `));
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
