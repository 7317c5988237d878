import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { fileTypeFromFile } from "file-type";
import type { FileFacts } from "../plan/plan.ts";

/**
 * Measures the files that a plan uploads; one that cannot be read is a value, so that all problems come at once. Of a
 * file that is not there any more, what was measured before (`kept`) holds.
 */
export async function measureFiles(
  files: readonly { readonly path: string }[],
  kept: readonly FileFacts[] = [],
): Promise<ReadonlyMap<string, FileFacts | { readonly error: string }>> {
  const paths = [...new Set(files.map((file) => file.path))];
  const measured = paths.map(async (path) => {
    const found = await measure(path);
    const before = kept.find((facts) => facts.path === resolve(path));
    return [path, "error" in found ? (before ?? found) : found] as const;
  });
  return new Map(await Promise.all(measured));
}

async function measure(given: string): Promise<FileFacts | { readonly error: string }> {
  const path = resolve(given);
  try {
    const found = await stat(path);
    if (!found.isFile()) return { error: `${given} is not a file` };
    if (found.size === 0) return { error: `${given} is empty` };
    const hash = createHash("sha256");
    for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
    const type = await fileTypeFromFile(path);
    const contentType = type?.mime ?? "application/octet-stream";
    return { path, sha256: hash.digest("hex"), sizeBytes: found.size, contentType };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return { error: code === "ENOENT" ? `${given} does not exist` : `${given} cannot be read (${code ?? error})` };
  }
}
