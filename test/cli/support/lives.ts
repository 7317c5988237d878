import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RunDocument } from "../../../src/index.ts";
import { compileCache } from "../../support/compile-cache.ts";
import type { Life } from "../fixtures/one-life.ts";
import { root } from "./cli.ts";

export interface Living {
  readonly child: ChildProcess;
  /** The end of the life; null if the process was killed before it could report the end. */
  readonly ended: Promise<{
    readonly status: string;
    readonly message: string | null;
    readonly report: RunDocument;
  } | null>;
}

/** Processes that each drive a run once. The next process loads its code while the current process runs. */
export class Nursery {
  readonly #script: string;
  #touch: ReturnType<typeof spawnSpare>;

  /** `script`: a file below the repository's root that calls `liveOnce`. */
  constructor(script = "test/cli/fixtures/every-kind-run.ts") {
    this.#script = script;
    this.#touch = spawnSpare(script);
  }

  async live(life: Life): Promise<Living> {
    const { child, lines, ready } = this.#touch;
    this.#touch = spawnSpare(this.#script);
    if ((await ready).done) throw new Error("A process ended before it had loaded its code; see its stderr.");
    child.stdin!.write(`${JSON.stringify(life)}\n`);
    const ended = (async () => {
      const { value } = await lines.next();
      if (child.exitCode === null && child.signalCode === null) await once(child, "close");
      return value === undefined ? null : JSON.parse(value);
    })();
    return { child, ended };
  }

  close(): void {
    this.#touch.child.kill("SIGKILL");
  }
}

function spawnSpare(path: string) {
  const hook = join(root, "test/core/engine/fixtures/same-instance.mjs");
  const script = join(root, path);
  const child = spawn(process.execPath, ["--import", hook, script], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...compileCache },
  });
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, lines, ready: lines.next() };
}
