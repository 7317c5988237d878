import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** The health that a server process reports. */
export interface Health {
  readonly defects: readonly string[];
  readonly rssBytes: number;
  /** Peak memory of the process. */
  readonly peakBytes: number;
  /** Delay of the event loop since the last reset, 99th percentile. */
  readonly delayP99Ms: number;
  readonly cpuMs: number;
}

export interface ServedProcess extends AsyncDisposable {
  readonly ready: Readonly<Record<string, string>>;
  health(ask?: "health" | "reset"): Promise<Health>;
}

/** Limits V8's space for short-lived garbage, which otherwise grows with concurrent requests and would look like a leak. */
const FLAGS: string[] = ["--expose-gc", "--max-semi-space-size=4"];

/** Starts a module that calls `reportHealth` in a separate process. */
export async function startServed(module: string): Promise<ServedProcess> {
  const child: ChildProcess = fork(module, {
    execArgv: FLAGS,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const first = await Promise.race([once(child, "message"), once(child, "exit").then(() => null)]);
  if (first === null) throw new Error(`${module} ended before it was ready; see its stderr.`);
  return {
    ready: first[0],
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
