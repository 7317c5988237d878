import { styleText } from "node:util";
import { withLauncher } from "../core/kit/launcher.ts";
import type { Io, TextOutput } from "./io.ts";
import { withoutControl } from "./text/escape.ts";
import { inSentence, nextLines } from "./text/next-line.ts";

type Style = Parameters<typeof styleText>[0];

export interface CommandOutput {
  print(text: string): void;
  /** Prints a line to stdout, and adds the launcher and flags to commands in it. */
  tell(text: string): void;
  printJson(document: unknown): void;
  /** Prints one of several documents, each on a line of its own. */
  printJsonLine(document: unknown): void;
  /** Prints the document of a refusal, unless the command has printed its only document or other text. */
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
