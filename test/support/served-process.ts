import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** What a server's process says of itself. */
export interface Health {
  readonly defects: readonly string[];
  readonly rssBytes: number;
  /** The most that it ever was. */
  readonly peakBytes: number;
  /** Of the event loop, since the last reset. */
  readonly delayP99Ms: number;
  readonly cpuMs: number;
}

export interface ServedProcess extends AsyncDisposable {
  readonly ready: Readonly<Record<string, string>>;
  health(ask?: "health" | "reset"): Promise<Health>;
}

/** V8 makes room for as much short-lived garbage as there are requests at once, and keeps it: not what is looked for here. */
const FLAGS: string[] = ["--expose-gc", "--max-semi-space-size=4"];

/** Starts a module that answers messages as `reportHealth` does, in a process of its own. */
export async function startServed(module: string): Promise<ServedProcess> {
  const child: ChildProcess = fork(module, {
    execArgv: FLAGS,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [ready] = await once(child, "message");
  return {
    ready,
    async health(ask = "health") {
      const answer = once(child, "message");
      child.send(ask);
      const [health] = await answer;
      return health as Health;
    },
    async [Symbol.asyncDispose]() {
      const gone = once(child, "exit");
      child.kill();
      await gone;
    },
  };
}
