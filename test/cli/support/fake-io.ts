import { Readable } from "node:stream";
import type { Io, TextOutput } from "../../../src/cli/io.ts";

export interface FakeIo {
  readonly io: Io;
  stdoutBytes(): Buffer;
  stdout(): string;
  stderr(): string;
  interrupt(): void;
}

export interface FakeIoOptions {
  readonly terminal?: Omit<TextOutput, "write">;
  readonly env?: Io["env"];
  readonly cwd?: string;
  readonly launcher?: string;
  readonly ask?: Io["ask"];
  /** Standard input. Default: empty. */
  readonly stdin?: string;
}

/** A simulated process that the test controls. */
export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const written: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
  const textOf = (name: keyof typeof written) => Buffer.concat(written[name]).toString();
  const controller = new AbortController();
  const output = (name: keyof typeof written): TextOutput => ({
    ...options.terminal,
    write(text) {
      written[name].push(Buffer.from(text));
    },
  });
  return {
    io: {
      stdout: output("stdout"),
      stderr: output("stderr"),
      stdin: Readable.from([Buffer.from(options.stdin ?? "")]),
      ask: options.ask ?? null,
      background: null,
      open: null,
      env: options.env ?? {},
      cwd: options.cwd ?? process.cwd(),
      launcher: options.launcher ?? "showrunner",
      interrupt: controller.signal,
    },
    stdout: () => textOf("stdout"),
    stdoutBytes: () => Buffer.concat(written.stdout),
    stderr: () => textOf("stderr"),
    interrupt: () => controller.abort(),
  };
}
