import type { Background } from "./background.ts";

export interface TextOutput {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  /** Width in characters; undefined if the output is not a terminal. */
  readonly columns?: number;
  readonly rows?: number;
}

/** What commands may use of their process, so that tests can replace it. */
export interface Io {
  /** For data that other programs read. */
  readonly stdout: TextOutput;
  /** For messages and progress that people read. */
  readonly stderr: TextOutput;
  /** Piped input, which is read only for a flag whose value is `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Asks the user for one line of text; null without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Starts this program in the background with these arguments; null where that is impossible. */
  readonly background: ((args: readonly string[], logFile: string) => Background) | null;
  /** Opens a file in its default application; null without a desktop. */
  readonly open: ((file: string) => Promise<void>) | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The command that starts this program: `showrunner`, or `npx showrunner` if it is not on the PATH. */
  readonly launcher: string;
  /** Aborted by the first Ctrl-C or SIGTERM after this field is first read. Any other such signal ends the process. */
  readonly interrupt: AbortSignal;
}
