import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** How workers are started, with arguments by place; see `chaos-process.ts`. */
export interface FleetOptions {
  readonly file: string;
  readonly size: number;
  readonly args: (place: number) => readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly execArgv?: readonly string[];
  /** Name of the log. Default `workers`. */
  readonly name?: string;
  /** Folder for the workers' output. */
  readonly folder: string;
}

/** Worker processes with a supervisor that restarts dead workers, like systemd or Kubernetes. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #workers: ChildProcess[] = [];
  readonly #log: string;
  /** Workers that ended unexpectedly. */
  readonly crashed: string[] = [];
  /** Number of starts that failed because a server was unavailable. */
  failedStarts = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#log = join(options.folder, `${options.name ?? "workers"}.log`);
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.size }, (_, place) => this.#start(place)));
  }

  pid(place: number): number {
    return this.#workers[place]!.pid!;
  }

  signal(place: number, signal: NodeJS.Signals): void {
    this.#workers[place]!.kill(signal);
  }

  /** Kills a worker with SIGKILL, and starts a new worker in its place. */
  async replace(place: number): Promise<void> {
    await this.#end(place, "SIGKILL");
    await this.#start(place);
  }

  /** Stops all workers, as at the end of a deployment. Returns their exit codes. */
  stop(): Promise<readonly (number | null)[]> {
    return Promise.all(this.#workers.map((_, place) => this.#end(place, "SIGTERM")));
  }

  kill(): void {
    for (const worker of this.#workers) worker.removeAllListeners("exit").kill("SIGKILL");
  }

  log(): string {
    return readFileSync(this.#log, "utf8");
  }

  async #end(place: number, signal: NodeJS.Signals): Promise<number | null> {
    const worker = this.#workers[place]!;
    worker.removeAllListeners("exit");
    const gone = once(worker, "exit");
    worker.kill(signal);
    const [code] = await gone;
    return code as number | null;
  }

  async #start(place: number): Promise<void> {
    const { file, args, env, execArgv = [] } = this.#options;
    for (;;) {
      const log = openSync(this.#log, "a");
      const worker = fork(file, args(place), {
        ...{ stdio: ["ignore", log, log, "ipc"], execArgv: [...execArgv], env: { ...process.env, ...env } },
      });
      closeSync(log);
      this.#workers[place] = worker;
      const [said] = await Promise.race([once(worker, "message"), once(worker, "exit")]);
      if (said === "ready") {
        worker.on("exit", (code, signal) => this.crashed.push(`${worker.pid} exited with ${code ?? signal}`));
        return;
      }
      if (said !== 75) throw new Error(`a worker did not start (${said}): ${this.log().slice(-2_000)}`);
      this.failedStarts += 1;
      await delay(300);
    }
  }
}
