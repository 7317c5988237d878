import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { compileCache } from "../../support/compile-cache.ts";
import { ownCommand } from "../../support/own-command.ts";
import { emptyFolder } from "./cli.ts";

/** A real terminal, provided by tmux. */
export interface Terminal extends AsyncDisposable {
  /** Returns the text on the screen, optionally with escape sequences. */
  screen(options?: { readonly colours?: boolean }): string;
  /** Settles when the screen shows this pattern. */
  shows(pattern: RegExp): Promise<string>;
  /** Presses keys, in tmux's notation, such as `C-c`. */
  press(...keys: string[]): void;
  resize(columns: number, rows: number): void;
}

export interface TerminalOptions {
  readonly cwd: string;
  readonly columns: number;
  readonly rows: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Program to run instead of the command line, such as a shell. */
  readonly program?: readonly string[];
}

const pollEveryMs = 200;
const patienceMs = 60_000;

/** Runs the command line (or another program) in a terminal; when it ends, the screen shows `exit <code>`. */
export function openTerminal(args: readonly string[], options: TerminalOptions): Terminal {
  const socket = join(emptyFolder(), "tmux");
  const tmux = (...words: string[]) =>
    execFileSync("tmux", ["-f", "/dev/null", "-S", socket, ...words], { encoding: "utf8" });
  const quoted = [...(options.program ?? [process.execPath, ownCommand]), ...args].map((word) => `'${word}'`).join(" ");
  // Of this process hardly anything else: what npm sets for its scripts changes what a command advises to type.
  const { PATH = "", HOME = "" } = process.env;
  const variables = Object.entries({ PATH, HOME, TERM: "tmux-256color", ...compileCache, ...options.env });
  const settings = variables.map(([name, value]) => `${name}='${value}'`).join(" ");
  tmux(
    ...["new-session", "-d", "-x", String(options.columns), "-y", String(options.rows), "-c", options.cwd],
    `env -i ${settings} ${quoted}; echo "exit $?"; exec sleep 1000`,
  );
  const screen = ({ colours = false } = {}) => tmux("capture-pane", "-p", ...(colours ? ["-e"] : []));
  return {
    screen,
    async shows(pattern) {
      const end = performance.now() + patienceMs;
      for (;;) {
        const text = screen();
        if (pattern.test(text)) return text;
        if (performance.now() > end) throw new Error(`the screen never showed ${pattern}:\n${text}`);
        await delay(pollEveryMs);
      }
    },
    press: (...keys) => void tmux("send-keys", "--", ...keys),
    resize: (columns, rows) => void tmux("resize-window", "-x", String(columns), "-y", String(rows)),
    [Symbol.asyncDispose]: async () => void tmux("kill-server"),
  };
}
