import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import type { ServiceContext } from "../service-context.ts";

const CHUNK_BYTES = 1024 * 1024;

/** The hash of what was uploaded, by its handle; null for a text that is no handle of this service. */
export function createUploadHashes({ store, dataDir, origin }: ServiceContext): (url: string) => string | null {
  const known = new Map<string, string>();
  return (url) => {
    const prefix = `${origin()}/uploads/`;
    if (!url.startsWith(prefix)) return null;
    const fileId = url.slice(prefix.length).split("?", 1)[0]!;
    const file = store.files.get(fileId);
    if (file?.url !== url) return null;
    const hash = known.get(fileId) ?? hashOf(dataDir.absolute(file.path));
    known.set(fileId, hash);
    return hash;
  };
}

function hashOf(path: string): string {
  const hash = createHash("sha256");
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}
