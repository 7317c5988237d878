import { createHash, randomBytes } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { open, syncFolder } from "../../kit/files.ts";

export interface PartFile {
  readonly sizeBytes: number;
  validator: string | null;
  append(chunk: Uint8Array): Promise<void>;
  restart(): Promise<void>;
  commit(): Promise<{ readonly sha256: string; readonly sizeBytes: number }>;
  discard(): Promise<void>;
}

export async function openPart(target: string): Promise<PartFile> {
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  const path = join(folder, `.${basename(target).slice(0, 60)}.${randomBytes(6).toString("hex")}.part`);
  // In append mode, writing continues at the start of the file after `restart` truncates it.
  const file = await open(path, "ax", 0o644);
  let hash = createHash("sha256");
  let sizeBytes = 0;
  let over = false;
  const part: PartFile = {
    validator: null,
    get sizeBytes() {
      return sizeBytes;
    },
    async append(chunk) {
      await file.appendFile(chunk);
      hash.update(chunk);
      sizeBytes += chunk.byteLength;
    },
    async restart() {
      await file.truncate(0);
      hash = createHash("sha256");
      sizeBytes = 0;
      part.validator = null;
    },
    async commit() {
      await file.sync();
      await file.close();
      over = true;
      await rename(path, target).catch(async (error) => {
        await rm(path, { force: true });
        throw error;
      });
      await syncFolder(folder);
      return { sha256: hash.digest("hex"), sizeBytes };
    },
    async discard() {
      if (over) return;
      over = true;
      await file.close();
      await rm(path, { force: true });
    },
  };
  return part;
}
