import type { Background } from "./background.ts";

/** Where text goes: a stream of the process, or a list in a test. */
export interface TextOutput {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  /** Width in characters; absent if not a terminal. */
  readonly columns?: number;
  readonly rows?: number;
}

/** Everything the command line uses of its process. */
export interface Io {
  /** Data: what another program would read. */
  readonly stdout: TextOutput;
  /** Messages and progress: what a person reads. */
  readonly stderr: TextOutput;
  /** Piped input; read only for a flag whose value is `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Asks a person for one line; null without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Starts this program in the background with other arguments; null where that is impossible. */
  readonly background: ((args: readonly string[], logFile: string) => Background) | null;
  /** Opens a file in its default application; null without a desktop. */
  readonly open: ((file: string) => Promise<void>) | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** What to type to start this program: `showrunner`, or `npx showrunner` if it is not on the PATH. */
  readonly launcher: string;
  /** Aborted by the first Ctrl-C or SIGTERM after this field was first read. Earlier and later signals end the process. */
  readonly interrupt: AbortSignal;
}
