import { randomUUID } from "node:crypto";
import { lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "./durable-file.ts";
import { MediaPathError } from "./media-errors.ts";
import type { Manifest } from "./provenance-schema.ts";

const AT_ONCE = 8;

/** Where the manifest of a named file goes, relative likewise. */
export function manifestName(file: string): string {
  return `${file}.json`;
}

/**
 * Writes each manifest beside its file, whole or not at all, in place of an older one, and settles once all of them are
 * on the disk. Their files stand below `outDir` already, so their folders are known to be safe ones.
 */
export async function placeManifests(outDir: string, manifests: readonly Manifest[]): Promise<void> {
  const waiting = [...manifests];
  const work = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await place(outDir, next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const folders = new Set(manifests.map(({ file }) => dirname(join(outDir, file.name))));
  await Promise.all([...folders].map(syncFolder));
}

async function place(outDir: string, manifest: Manifest): Promise<void> {
  const target = join(outDir, manifestName(manifest.file.name));
  if ((await lstat(target).catch(() => null))?.isDirectory()) {
    throw new MediaPathError(`${target} is a folder, and a manifest is to go there. Move it away, then resume.`);
  }
  const tmp = join(dirname(target), `.${basename(target).slice(0, 32)}-${randomUUID()}.part`);
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
