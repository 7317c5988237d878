import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";

/** Kills the processes that it has heard of, and that have not ended, once its parent is gone. */
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

/**
 * Has a child killed should this process die without a chance to do it, as by SIGKILL: a process of its own watches, which is
 * started with the first child. Answers what to call once the child has ended.
 */
export function keep({ pid }: ChildProcess): () => void {
  if (pid === undefined) return () => {};
  write(`+${pid}\n`);
  return () => write(`-${pid}\n`);
}

function write(line: string): void {
  if (keeper === null || keeper.exitCode !== null || keeper.signalCode !== null) keeper = start();
  keeper.stdin?.write(line);
}

function start(): ChildProcess {
  // Detached: Ctrl-C reaches the whole group, and the keeper has to outlive its parent.
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
