import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { localWork } from "./contract.ts";
import { type EngineSpec, killed, openEngine } from "./engines.ts";

const LONG = 240_000;

/** Tests that the work of a process that dies or freezes moves to another process, and prints how long this took. */
export function takeoverContract(open: () => Promise<EngineSpec>): void {
  test.concurrent.for([
    ["is killed", "SIGKILL"],
    ["freezes", "SIGSTOP"],
  ] as const)(
    "what a process was at that %s is given to another one",
    { timeout: LONG },
    async ([how, signal], { expect }) => {
      const spec = await open();
      const engine = await openEngine(spec);
      const file = fileURLToPath(new URL("./engine-process.ts", import.meta.url));
      const child = spawn(process.execPath, [file, JSON.stringify(spec)], { stdio: ["ignore", "pipe", "inherit"] });
      const said: string[] = [];
      child.stdout.on("data", (chunk: Buffer) => said.push(...chunk.toString().trim().split("\n")));
      try {
        await expect.poll(() => said, { timeout: 60_000 }).toContain("ready");
        await engine.wake("a");
        await engine.delegate(localWork("a"));
        await expect.poll(() => said.toSorted(), { timeout: 60_000 }).toEqual(["local 1.0", "ready", "slice a"]);
        const taken: string[] = [];
        const handlers = {
          slice: async (runId: string) => {
            taken.push(`slice ${runId}`);
            return null;
          },
          local: async ({ of }: { readonly of: string }) => void taken.push(`local ${of}`),
        };
        await engine.process(handlers, { slices: 2, local: 2 });
        child.kill(signal);
        const at = Date.now();
        await expect.poll(() => taken.toSorted(), { timeout: LONG }).toEqual(["local 1.0", "slice a"]);
        console.log(`${spec.kind}: taken over ${Date.now() - at} ms after a process ${how}`);
      } finally {
        await killed(child);
        await engine.close({ drainMs: 1_000 });
      }
    },
  );
}
