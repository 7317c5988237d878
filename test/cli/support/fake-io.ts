import type { Io, TextOutput } from "../../../src/cli/io.ts";

export interface FakeIo {
  readonly io: Io;
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
}

/** A process that a test holds by hand. */
export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const written = { stdout: "", stderr: "" };
  const controller = new AbortController();
  const output = (name: keyof typeof written): TextOutput => ({
    ...options.terminal,
    write(text) {
      written[name] += text;
    },
  });
  return {
    io: {
      stdout: output("stdout"),
      stderr: output("stderr"),
      ask: options.ask ?? null,
      background: null,
      open: null,
      env: options.env ?? {},
      cwd: options.cwd ?? process.cwd(),
      launcher: options.launcher ?? "showrunner",
      interrupt: controller.signal,
    },
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    interrupt: () => controller.abort(),
  };
}
