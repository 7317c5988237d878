import process from "node:process";
import { ExitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";

/** Warnings about Node itself that say nothing to the user of a command. */
const quiet = new Set(["ExperimentalWarning", "MODULE_TYPELESS_PACKAGE_JSON"]);

/** The process as the command line sees it. Call once: it installs handlers for signals, warnings and broken pipes. */
export function hostProcess(): Io {
  quietenWarnings();
  leaveOnBrokenPipe();
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal : null,
    background: async (args, logFile) => (await import("./background.ts")).startInBackground(args, logFile),
    env: process.env,
    cwd: process.cwd(),
    interrupt: firstInterrupt(),
  };
}

/** The first signal asks for an orderly stop; a second one leaves at once. */
function firstInterrupt(): AbortSignal {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(ExitCode.interrupted);
    controller.abort();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return controller.signal;
}

async function askOnTerminal(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

function quietenWarnings(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning: Error & { readonly code?: string }) => {
    if (quiet.has(warning.name) || quiet.has(warning.code ?? "")) return;
    process.stderr.write(`${warning.name}: ${warning.message}\n`);
  });
}

/** `showrunner runs | head -1` closes the pipe early; that is no failure of ours. */
function leaveOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}
