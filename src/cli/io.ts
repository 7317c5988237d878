import type { Background } from "./background.ts";

/** Where text goes: a stream of the process, or a list in a test. */
export interface TextOutput {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  /** Width in characters; absent when it is no terminal. */
  readonly columns?: number;
  readonly rows?: number;
}

/** Everything the command line takes from the process that runs it. */
export interface Io {
  /** Data: what another program would read. */
  readonly stdout: TextOutput;
  /** Messages and progress: what a person reads. */
  readonly stderr: TextOutput;
  /** What another program pipes into this one; read only for a flag that says `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** One line typed by a person, or null without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Starts this command line again with other arguments, away from the terminal; null where that cannot be. */
  readonly background: ((args: readonly string[], logFile: string) => Background) | null;
  /** Shows a file in the program that is for it; null where there is no desktop. */
  readonly open: ((file: string) => Promise<void>) | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** What people type to start this command line: `showrunner`, or `npx showrunner` where their shell does not know it. */
  readonly launcher: string;
  /** Aborted by the first Ctrl-C or SIGTERM after its first use; an earlier or a second one ends the process. */
  readonly interrupt: AbortSignal;
}
