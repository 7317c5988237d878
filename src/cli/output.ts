import { styleText } from "node:util";
import { withLauncher } from "../core/kit/launcher.ts";
import type { Io, TextOutput } from "./io.ts";
import { withoutControl } from "./text/escape.ts";
import { inSentence, nextLines } from "./text/next-line.ts";

type Style = Parameters<typeof styleText>[0];

/** What a command says: data on stdout, messages on stderr, both free of control characters. */
export interface CommandOutput {
  /** Whether there is something on stdout. */
  readonly hasPrinted: boolean;
  /** A line of data on stdout, exactly as it is. */
  print(text: string): void;
  /** A line for a person on stdout, which may name commands. */
  tell(text: string): void;
  /** One JSON document on stdout. */
  printJson(document: unknown): void;
  /** A line for a person on stderr, which may name commands. */
  say(text: string): void;
  /**
   * What to do next: a command that can be pasted as it stands, on a line of its own. `   (…)` behind it is a remark,
   * which goes below. Further ones follow in their order.
   */
  next(...steps: readonly string[]): void;
  /** Flags that the commands suggested from now on need as well. */
  carry(flags: readonly string[]): void;
  /** Colour for `say`, where the terminal has it and NO_COLOR is not set. */
  paint(style: Style, text: string): string;
}

export function createOutput(io: Io): CommandOutput {
  const colour = hasColour(io.stderr, io.env);
  const { launcher } = io;
  let flags: readonly string[] = [];
  let hasPrinted = false;
  const line = (text: string) => `${withoutControl(withLauncher(inSentence(text, flags), launcher))}\n`;
  const write = (text: string) => {
    hasPrinted = true;
    io.stdout.write(text);
  };
  return {
    get hasPrinted() {
      return hasPrinted;
    },
    print: (text) => write(`${withoutControl(text)}\n`),
    printJson: (document) => write(`${withoutControl(JSON.stringify(document, null, 2))}\n`),
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
