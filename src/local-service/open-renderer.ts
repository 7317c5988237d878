import type { NormalOptions } from "./options.ts";
import type { ProbeResult, Renderer } from "./render/contract.ts";
import { createStubRenderer } from "./stub/stub-renderer.ts";

/** The renderer asked for. What was uploaded is always decoded for real; that code loads with the first upload. */
export async function openRenderer(options: NormalOptions) {
  const probe = async (path: string): Promise<ProbeResult> => (await import("./render/index.ts")).probe(path);
  return { renderer: await rendererOf(options), probe };
}

async function rendererOf({ renderer }: NormalOptions): Promise<Renderer> {
  if (renderer === "stub") return createStubRenderer();
  return renderer === "real" ? (await import("./render/index.ts")).createRenderer() : renderer;
}
