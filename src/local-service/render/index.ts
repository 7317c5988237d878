import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import type { ProbeResult, Renderer, RenderResult } from "./contract.ts";
import { WorkerPool } from "./pool.ts";

export type {
  MediaFile,
  ProbeResult,
  Renderer,
  RenderKind,
  RenderOptions,
  RenderRequest,
  RenderResult,
  VoiceProfile,
} from "./contract.ts";
export { RenderError, type RenderErrorCode } from "./render-error.ts";

/** @param options.workers how many requests render at the same time; default 2 */
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

let probing: WorkerPool | undefined;

/**
 * Decodes really (not only the header), in a thread of its own that keeps no process alive; a corrupt or unsupported
 * file is a value. The type is sniffed from the bytes.
 */
export async function probe(path: string): Promise<ProbeResult> {
  probing ??= new WorkerPool(1);
  try {
    return (await probing.run({ type: "probe", path })) as ProbeResult;
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
