import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../errors.ts";

/** The folders below the data folder. Paths in the database are relative to it. */
export interface DataDir {
  readonly root: string;
  /** Path of an asset's bytes, relative to the root. */
  assetPath(assetId: string): string;
  uploadPath(fileId: string): string;
  absolute(relative: string): string;
  /** Moves a file to its path; creates the folder when needed. */
  place(from: string, relative: string): Promise<void>;
}

/** Two hex digits of a random id: shards files into 256 folders. */
function shard(id: string): string {
  return id.slice(id.indexOf("_") + 1).slice(0, 2);
}

function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

/** Creates the folders, and removes partial files of a killed process. */
export function openDataDir(root: string): DataDir {
  const incoming = join(root, "incoming");
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  removeLeftovers(incoming);
  return {
    root,
    assetPath: (assetId) => join("assets", shard(assetId), assetId),
    uploadPath: (fileId) => join("uploads", shard(fileId), fileId),
    absolute: (relative) => join(root, relative),
    async place(from, relative) {
      const to = join(root, relative);
      try {
        await rename(from, to);
      } catch (error) {
        if (systemCode(error) !== "ENOENT") throw error;
        await mkdir(dirname(to), { recursive: true, mode: 0o700 });
        await rename(from, to);
      }
    },
  };
}
