import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import type { ProbeResult, Renderer, RenderResult } from "./contract.ts";
import { WorkerPool } from "./pool.ts";
import { probeHead } from "./probe/probe-file.ts";

export function createRenderer(options: { readonly workers?: number } = {}): Renderer {
  const pool = new WorkerPool(options.workers ?? 2);
  return {
    async render(request, renderOptions) {
      const tempPath = `${request.outPath}.${randomUUID()}.part`;
      try {
        return (await pool.run({ type: "render", request, tempPath }, renderOptions)) as RenderResult;
      } catch (error) {
        await rm(tempPath, { force: true });
        throw error;
      }
    },
    close: () => pool.close(),
  };
}

/**
 * Time limit for probing a file. Without it, a damaged file could send a parser into an endless loop and block later
 * uploads.
 */
const PROBE_LIMIT_MS = 60_000;

let probing: WorkerPool | undefined;

export async function probe(path: string): Promise<ProbeResult> {
  probing ??= new WorkerPool(1);
  try {
    return (await probing.run({ type: "probe", path }, { timeLimitMs: PROBE_LIMIT_MS })) as ProbeResult;
  } catch (error) {
    const announced = await probeHead(path).catch(() => null);
    const reason = error instanceof Error ? error.message : String(error);
    return { ok: false, reason, ...(announced !== null && { announced }) };
  }
}
