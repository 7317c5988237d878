import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { LocalService } from "../../../src/local-service/index.ts";

/** A data folder that is removed after the test. */
export async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "local-service-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A service in a process of its own. With the mode `never`, no job ends before the process is killed. */
export async function startProcess(folder: string, mode: "never" | "stub" = "stub") {
  const script = join(import.meta.dirname, "service-process.ts");
  const child = spawn(process.execPath, [script, folder, mode], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(child.stdout, "data");
  const kill = async () => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  return { child, service: JSON.parse(String(line)) as LocalService, kill };
}
