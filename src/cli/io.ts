import type { Background } from "./background.ts";

export interface TextOutput {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  /** Width in characters. Undefined if the output is not a terminal. */
  readonly columns?: number;
  readonly rows?: number;
}

/** What commands may use of their process. Tests can replace it. */
export interface Io {
  /** Output for other programs. */
  readonly stdout: TextOutput;
  /** Output for people, such as messages and progress. */
  readonly stderr: TextOutput;
  /** Piped input. It is read only for a flag whose value is `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Asks the user for one line of text. Null without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Starts this program in the background with these arguments. Null where that is impossible. */
  readonly background: ((args: readonly string[], logFile: string) => Background) | null;
  /** Opens a file in its default application. Null without a desktop. */
  readonly open: ((file: string) => Promise<void>) | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The command that starts this program: `showrunner`, or `npx showrunner` if it is not on the PATH. */
  readonly launcher: string;
  /** Aborted by the first Ctrl-C or SIGTERM after this field is first read. Any other such signal ends the process. */
  readonly interrupt: AbortSignal;
}
