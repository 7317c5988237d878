import type { Background } from "./background.ts";

export interface TextOutput {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  /** Width in characters. Undefined if the output is not a terminal. */
  readonly columns?: number;
  readonly rows?: number;
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
