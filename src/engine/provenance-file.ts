import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncFolder, temporaryPath } from "../durable-file.ts";
import { checkReplaceable } from "./place-file.ts";
import type { Manifest } from "./provenance-schema.ts";

const AT_ONCE = 8;

/** Where the manifest of a named file goes, relative likewise. */
export function manifestName(file: string): string {
  return `${file}.json`;
}

/**
 * Writes each manifest beside its file, whole or not at all, in place of an older one, and settles once all of them are
 * on the disk. Their files stand below `outDir` already, so their folders are known to be safe ones.
 * `tag` is in the names of their temporary files.
 */
export async function placeManifests(outDir: string, manifests: readonly Manifest[], tag: string): Promise<void> {
  const waiting = [...manifests];
  const work = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await place(outDir, next, tag);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const folders = new Set(manifests.map(({ file }) => dirname(join(outDir, file.name))));
  await Promise.all([...folders].map(syncFolder));
}

async function place(outDir: string, manifest: Manifest, tag: string): Promise<void> {
  const target = join(outDir, manifestName(manifest.file.name));
  await checkReplaceable(target, "a manifest");
  const tmp = temporaryPath(dirname(target), tag);
  try {
    const file = await open(tmp, "wx");
    try {
      await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(tmp, target);
  } finally {
    await rm(tmp, { force: true });
  }
}
