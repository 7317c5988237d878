import { writeFile } from "node:fs/promises";
import type { NormalOptions } from "./options.ts";
import type { ProbeResult, Renderer, RenderKind, RenderRequest, RenderResult } from "./render/contract.ts";
import { FILM, PICTURE, SOUND, type StubMedia } from "./stub/stub-media.ts";

const MEDIA: Readonly<Record<Exclude<RenderKind, "voice">, StubMedia>> = {
  image: PICTURE,
  video: FILM,
  avatar: FILM,
  speech: SOUND,
};

const NOTHING = { contentType: null, width: null, height: null, durationMs: null, fps: null, sizeBytes: 0 };

function voice({ input }: RenderRequest): RenderResult {
  const label = typeof input["name"] === "string" ? input["name"] : "voice";
  return { ...NOTHING, voice: { base: "slt", pitchHz: null, loudnessDb: null, label } };
}

/** Makes the same tiny media every time, at once: for tests and benches. */
export function createStubRenderer(): Renderer {
  return {
    async render(request) {
      if (request.kind === "voice") return voice(request);
      const { bytes, ...measured } = MEDIA[request.kind];
      await writeFile(request.outPath, bytes);
      return { ...measured, sizeBytes: bytes.length, voice: null };
    },
    close: () => Promise.resolve(),
  };
}

/** The renderer asked for. What was uploaded is always decoded for real; that code loads with the first upload. */
export async function openRenderer(options: NormalOptions) {
  const probe = async (path: string): Promise<ProbeResult> => (await import("./render/index.ts")).probe(path);
  return { renderer: await rendererOf(options), probe };
}

async function rendererOf({ renderer }: NormalOptions): Promise<Renderer> {
  if (renderer === "stub") return createStubRenderer();
  return renderer === "real" ? (await import("./render/index.ts")).createRenderer() : renderer;
}
