import { join } from "node:path";
import { afterAll } from "vitest";
import type {
  MediaFile,
  RenderOptions,
  RenderRequest,
  RenderResult,
} from "../../../src/local-service/render/contract.ts";
import { createRenderer } from "../../../src/local-service/render/index.ts";
import { newFolder } from "../../support/temporary-folder.ts";

/** Creates a renderer and a folder for a test file, and removes both at its end. */
export async function openBench(workers = 2) {
  const folder = newFolder();
  const renderer = createRenderer({ workers });
  afterAll(() => renderer.close());
  const path = (name: string) => join(folder, name);
  const request = (name: string, part: Partial<RenderRequest> & Pick<RenderRequest, "kind">): RenderRequest => ({
    index: 0,
    seed: 7,
    input: {},
    media: {},
    voice: null,
    ...part,
    outPath: path(name),
  });
  const render = (
    name: string,
    part: Partial<RenderRequest> & Pick<RenderRequest, "kind">,
    options?: RenderOptions,
  ): Promise<RenderResult> => renderer.render(request(name, part), options);
  const media = (name: string, contentType: string): MediaFile => ({
    path: path(name),
    contentType,
    width: null,
    height: null,
    durationMs: null,
  });
  return { folder, path, render, request, media, renderer };
}
