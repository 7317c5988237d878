import { spawn } from "node:child_process";
import { accessSync, closeSync, constants, mkdirSync, openSync, readFileSync } from "node:fs";
import { delimiter, dirname, join, sep } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { ExitCode } from "./cli-error.ts";
import type { Background, Io } from "./io.ts";

const KILLED_AFTER_MS = 3_000;

/** Source code of a worker thread that waits for SIGINT, because a busy main thread cannot handle signals. */
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

/**
 * Calls `onSignal` on each SIGINT. If the process is still running some time after the second one, kills it, even if
 * the main thread is busy.
 */
function watchInterrupts(onSignal: () => void): void {
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const watch = new Worker(WATCH, { eval: true, workerData: ended, name: "interrupts" });
  watch.on("message", onSignal);
  // Signals still reach the main thread without this thread.
  watch.on("error", () => {});
  watch.unref();
  // Wakes the thread, which would otherwise keep waiting while the process exits.
  process.on("exit", () => {
    Atomics.store(ended, 0, 1);
    Atomics.notify(ended, 0);
  });
}

const quiet = new Set(["ExperimentalWarning", "MODULE_TYPELESS_PACKAGE_JSON"]);

/** Connects the command line to this process. Installs handlers for signals and warnings, so call it only once. */
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

function launcher(): string {
  const isInstalled = import.meta.dirname.split(sep).includes("node_modules");
  const byNpx = process.env.npm_command === "exec";
  return byNpx || (isInstalled && !isKnownToShell()) ? "npx showrunner" : "showrunner";
}

function isKnownToShell(): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter);
  // npm adds its own folders to the PATH, so they are skipped.
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
 * Returns a function that returns an abort signal. Once the function has been called, Ctrl-C aborts the signal; until
 * then, Ctrl-C ends the process immediately.
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
  // A listener that a pipeline file adds would disable the signal's default effect.
  process.on("newListener", (event) => {
    if (event === "SIGINT" || event === "SIGTERM") install();
  });
  return () => {
    // Install the handlers first, because the thread takes a while to start.
    install();
    if (!isOrderly) watchInterrupts(onSignal);
    isOrderly = true;
    return controller.signal;
  };
}

/** Ends the process after flushing its output, even if handles are still open. */
export async function leave(): Promise<void> {
  const drained = [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done)));
  await Promise.race([Promise.all(drained), delay(DRAIN_MS, undefined, { ref: false })]);
  setTimeout(() => process.exit(), LEAVE_MS).unref();
}

const DRAIN_MS = 5_000;
const LEAVE_MS = 200;

function hasDesktop(): boolean {
  if (process.platform === "darwin" || process.platform === "win32") return true;
  return Boolean(process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY);
}

/** Opens a file without a shell, because its name could contain commands. */
async function openOnDesktop(file: string): Promise<void> {
  const openers = { darwin: "open", win32: "explorer.exe" } as const;
  const opener = openers[process.platform as keyof typeof openers] ?? "xdg-open";
  const child = spawn(opener, [file], { detached: true, stdio: "ignore" });
  child.on("error", () => process.stderr.write(`Cannot start ${opener}\n`));
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

/** Ignores errors from writing to a closed pipe. A reader such as `head` may close it early. */
function leaveOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

/** Argument that makes a background process read its arguments from stdin, because all users can see command lines. */
const ARGUMENTS_ON_STDIN = "@stdin";

export function givenArguments(): readonly string[] {
  const typed = process.argv.slice(2);
  return typed[0] === ARGUMENTS_ON_STDIN ? (JSON.parse(readFileSync(0, "utf8")) as string[]) : typed;
}

export function startInBackground(args: readonly string[], logFile: string): Background {
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, "a", 0o600);
  try {
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ARGUMENTS_ON_STDIN], {
      detached: true,
      stdio: ["pipe", log, log],
      windowsHide: true,
    });
    // If the process cannot start, `ended` reports it.
    child.stdin?.on("error", () => {});
    child.stdin?.end(JSON.stringify(args));
    child.unref();
    const ended = new Promise<number | null>((resolve) => {
      child.on("error", () => resolve(1));
      child.on("exit", (code) => resolve(code));
    });
    return { pid: child.pid, ended };
  } finally {
    closeSync(log);
  }
}
