import { accessSync, constants } from "node:fs";
import { delimiter, join, sep } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { startInBackground } from "./background.ts";
import { ExitCode } from "./cli-error.ts";
import type { Io } from "./io.ts";

/** A process that was asked twice to end, and has not ended by itself in so many milliseconds, is ended. */
const KILLED_AFTER_MS = 1_000;

/**
 * Signals reach a thread's JavaScript only between two of its turns, and code of a pipeline may never end its turn. Only a script
 * that `vm` may break off by SIGINT learns of it in any thread, so that one waits for nothing else in a thread of its own.
 */
const WATCH = `
const { workerData, parentPort } = require("node:worker_threads");
const { Script } = require("node:vm");
globalThis.ended = workerData;
const wait = new Script("Atomics.wait(ended, 0, 0)");
for (let signals = 0; Atomics.load(ended, 0) === 0; ) {
  try {
    wait.runInThisContext({ breakOnSigint: true });
  } catch {
    parentPort.postMessage(++signals);
    if (signals > 1 && Atomics.wait(ended, 0, 0, ${KILLED_AFTER_MS}) === "timed-out") process.kill(process.pid, "SIGKILL");
  }
}`;

/** Calls `onSignal` for each SIGINT, and ends the process after the second one even if the main thread is busy for ever. */
export function watchInterrupts(onSignal: () => void): void {
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const watch = new Worker(WATCH, { eval: true, workerData: ended, name: "interrupts" });
  watch.on("message", onSignal);
  // Without it the signals reach the main thread as ever.
  watch.on("error", () => {});
  watch.unref();
  // The thread would wait through the end of the process.
  process.on("exit", () => {
    Atomics.store(ended, 0, 1);
    Atomics.notify(ended, 0);
  });
}

/** Warnings about Node itself that say nothing to the user of a command. */
const quiet = new Set(["ExperimentalWarning", "MODULE_TYPELESS_PACKAGE_JSON"]);

/** The process as the command line sees it. Call once: it installs handlers for signals, warnings and broken pipes. */
export function hostProcess(): Io {
  quietenWarnings();
  leaveOnBrokenPipe();
  const interrupt = interruptOnDemand();
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal : null,
    background: startInBackground,
    open: process.stdout.isTTY && hasDesktop() ? openOnDesktop : null,
    env: process.env,
    cwd: process.cwd(),
    get launcher() {
      return launcher();
    },
    get interrupt() {
      return interrupt();
    },
  };
}

/** Within a project's `node_modules`, npx and scripts of npm find the program, and the shell that somebody types in does not. */
function launcher(): string {
  const isInstalled = import.meta.dirname.split(sep).includes("node_modules");
  const byNpx = process.env.npm_command === "exec";
  return byNpx || (isInstalled && !isKnownToShell()) ? "npx showrunner" : "showrunner";
}

function isKnownToShell(): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter);
  // npm puts folders of its own before those of the shell.
  return folders.some(
    (folder) => folder !== "" && !folder.includes("node_modules") && isProgram(join(folder, "showrunner")),
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Until a command asks for it, a signal ends the process at once, as it would any: nothing is under way, and a pipeline
 * file that never ends its loading must not swallow it. From then on the first signal asks for an orderly stop, and a
 * second one leaves at once, whatever the main thread is at.
 */
function interruptOnDemand(): () => AbortSignal {
  const controller = new AbortController();
  let isOrderly = false;
  let isInstalled = false;
  const onSignal = () => {
    if (!isOrderly || controller.signal.aborted) process.exit(ExitCode.interrupted);
    controller.abort();
  };
  const install = () => {
    if (isInstalled) return;
    isInstalled = true;
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  };
  // A listener of a pipeline file would take the signal's usual effect away.
  process.on("newListener", (event) => {
    if (event === "SIGINT" || event === "SIGTERM") install();
  });
  return () => {
    // The thread takes a while to start, in which a signal must find its handler.
    install();
    if (!isOrderly) watchInterrupts(onSignal);
    isOrderly = true;
    return controller.signal;
  };
}

/** What was written reaches its reader first; then the process ends, whatever a pipeline file left open. */
export async function leave(): Promise<void> {
  const drained = [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done)));
  await Promise.race([Promise.all(drained), delay(DRAIN_MS, undefined, { ref: false })]);
  setTimeout(() => process.exit(), LEAVE_MS).unref();
}

/** A reader that takes nothing for so long is not waited for. */
const DRAIN_MS = 5_000;
/** Time for what ends by itself. */
const LEAVE_MS = 200;

function hasDesktop(): boolean {
  if (process.platform === "darwin" || process.platform === "win32") return true;
  return Boolean(process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY);
}

/** The file's name is an argument of its own: no shell reads it. */
async function openOnDesktop(file: string): Promise<void> {
  const { spawn } = await import("node:child_process");
  const openers = { darwin: "open", win32: "explorer.exe" } as const;
  const opener = openers[process.platform as keyof typeof openers] ?? "xdg-open";
  const child = spawn(opener, [file], { detached: true, stdio: "ignore" });
  child.on("error", () => process.stderr.write(`${opener} could not be started\n`));
  child.unref();
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
