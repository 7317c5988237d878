import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { WorkerCalls } from "./fixtures/journal-worker.ts";

type Answer = {
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: unknown;
  readonly acknowledged?: number;
};

/** Another process that opens the same journal file. */
export class Worker {
  readonly child: ChildProcess;
  /** Highest sequence number that `commitForever` reported as committed. */
  acknowledged = 0;
  onAcknowledged: (seq: number) => void = () => {};
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  #lastId = 0;

  constructor() {
    const fixture = fileURLToPath(new URL("./fixtures/journal-worker.ts", import.meta.url));
    this.child = fork(fixture, { execArgv: [], serialization: "advanced" });
    this.child.on("message", (answer: Answer) => this.#receive(answer));
  }

  call<Name extends keyof WorkerCalls>(
    name: Name,
    ...args: Parameters<WorkerCalls[Name]>
  ): Promise<Awaited<ReturnType<WorkerCalls[Name]>>> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.child.send({ id, name, args });
    });
  }

  /** Kills the process like a crash. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await gone;
  }

  #receive({ id, value, error, acknowledged }: Answer): void {
    if (acknowledged !== undefined) {
      this.acknowledged = acknowledged;
      return this.onAcknowledged(acknowledged);
    }
    const waiting = this.#waiting.get(id ?? 0);
    this.#waiting.delete(id ?? 0);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(error);
  }
}
