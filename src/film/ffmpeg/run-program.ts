import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { FilmError } from "./film-error.ts";

/** Minimum number of characters to keep from the end of a program's output. */
const KEPT_CHARACTERS = 256 * 1024;
export const DEFAULT_TIMEOUT_MS = 30 * 60_000;

export interface ProgramOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly onOutput?: ((text: string) => void) | undefined;
  readonly cwd?: string | undefined;
}

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program. Kills it at the time limit, on abort, and if this process dies. @throws FilmError */
export async function runProgram(
  path: string,
  args: readonly string[],
  { signal, timeoutMs = DEFAULT_TIMEOUT_MS, onOutput, cwd }: ProgramOptions = {},
): Promise<ProgramResult> {
  if (signal?.aborted) throw stopped();
  const child = spawn(path, args, { stdio: ["ignore", "pipe", "pipe"], windowsHide: true, ...(cwd && { cwd }) });
  const forget = keep(child);
  let ended: FilmError | null = null;
  const end = (why: FilmError) => {
    ended ??= why;
    child.kill("SIGKILL");
  };
  const stop = () => end(stopped());
  const late = `${path} took longer than ${timeoutMs / 1000} s`;
  const timer = setTimeout(() => end(new FilmError("FFMPEG_TIMEOUT", late)), timeoutMs);
  signal?.addEventListener("abort", stop, { once: true });
  const [stdout, stderr] = [new KeptText(), new KeptText()];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout.add(text);
    onOutput?.(text);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr.add(text));
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.on("error", (cause) =>
        reject(new FilmError("FFMPEG_MISSING", `${path} could not be started: ${cause.message}`, { cause })),
      );
      child.on("close", (code) => resolve(code ?? -1));
    });
    if (ended !== null) throw ended;
    return { exitCode, stdout: stdout.text, stderr: stderr.text };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    forget();
  }
}

function stopped(): FilmError {
  return new FilmError("FFMPEG_STOPPED", "the run was stopped");
}

class KeptText {
  text = "";

  add(text: string): void {
    this.text += text;
    if (this.text.length > 2 * KEPT_CHARACTERS) this.text = this.text.slice(-KEPT_CHARACTERS);
  }
}

/** Script for a process that kills the registered processes once its own parent is gone. */
const KEEPER = `
const pids = new Set();
let rest = "";
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) pids[line[0] === "+" ? "add" : "delete"](Number(line.slice(1)));
}).on("end", () => {
  for (const pid of pids) try { process.kill(pid, "SIGKILL"); } catch {}
});
`;

let keeper: ChildProcess | null = null;

/** Kills the child if this process dies. Call the returned function once the child has ended. */
function keep({ pid }: ChildProcess): () => void {
  if (pid === undefined) return () => {};
  write(`+${pid}\n`);
  return () => write(`-${pid}\n`);
}

function write(line: string): void {
  if (keeper === null || keeper.exitCode !== null || keeper.signalCode !== null) keeper = start();
  keeper.stdin?.write(line);
}

function start(): ChildProcess {
  // The keeper is detached, because Ctrl-C reaches the whole process group, and the keeper must outlive its parent.
  const child = spawn(process.execPath, ["-e", KEEPER], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    windowsHide: true,
    env: {},
  });
  child.on("error", () => {});
  child.stdin?.on("error", () => {});
  child.unref();
  (child.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  return child;
}
