import { randomUUID } from "node:crypto";
import { lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "./durable-file.ts";
import { MediaPathError } from "./media-errors.ts";
import type { Manifest } from "./provenance-schema.ts";

/**
 * Writes a manifest beside its file, whole or not at all, in place of an older one. `manifest.file.name` is a file that
 * stands below `outDir` already, so its folder is known to be a safe one. Answers the manifest's path below `outDir`.
 */
export async function placeManifest(outDir: string, manifest: Manifest): Promise<string> {
  const name = `${manifest.file.name}.json`;
  const target = join(outDir, name);
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
  await syncFolder(dirname(target));
  return name;
}
