import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import type { PartFile } from "../../../../src/core/api/files/part-file.ts";
import type { MediaStore } from "../../../../src/core/engine/media/media-store.ts";
import { missingEnd } from "../../../../src/core/engine/media/whole.ts";

/** Unfinished files of all simulated machines, by path. */
const files = new Map<string, Buffer>();
let lastFile = 0;
const ROOT = "/sim/";

/** Replaces the partial file of a download; see files-in-memory.ts. */
export async function openPart(target: string): Promise<PartFile> {
  let chunks: Uint8Array[] = [];
  const part = {
    validator: null as string | null,
    get sizeBytes() {
      return chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
    },
    async append(chunk: Uint8Array) {
      chunks.push(chunk);
    },
    async restart() {
      chunks = [];
      part.validator = null;
    },
    async commit() {
      const bytes = Buffer.concat(chunks);
      files.set(target, bytes);
      return { sha256: hashOf(bytes), sizeBytes: bytes.length };
    },
    async discard() {},
  };
  return part;
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The media store of a simulated machine, in memory. */
export interface SimMedia extends MediaStore {
  /** The bytes at a path that the store returned. */
  bytesAt(path: string): Uint8Array;
  close(): void;
}

/** Open stores, by the root of their paths. */
const stores = new Map<string, Map<string, Buffer>>();
let lastStore = 0;

/** The bytes at a path of a simulated machine; null for other paths. */
export function bytesIn(path: string): Uint8Array | null {
  const [root, sha256] = [dirname(path), basename(path)];
  return stores.get(`${root}/`)?.get(sha256) ?? null;
}

export function createSimMedia(): SimMedia {
  const kept = new Map<string, Buffer>();
  const root = `${ROOT}${++lastStore}/`;
  stores.set(root, kept);
  const keep = (bytes: Buffer) => {
    const sha256 = hashOf(bytes);
    kept.set(sha256, bytes);
    return { sha256, sizeBytes: bytes.length };
  };
  return {
    put: async (source) =>
      keep("path" in source ? readFileSync(source.path) : Buffer.from("bytes" in source ? source.bytes : [])),
    has: async (sha256) => kept.has(sha256),
    path: (sha256) => `${root}${sha256}`,
    bytesAt: (path) => kept.get(path.slice(root.length))!,
    close: () => void stores.delete(root),
    tmpPath: () => `${ROOT}tmp/${++lastFile}`,
    async adopt(tmpPath) {
      const bytes = files.get(tmpPath)!;
      files.delete(tmpPath);
      return keep(bytes);
    },
    isPlaced: async () => true,
    place: async (files) => files.map(({ name }) => name),
    verify: async (sha256) => (kept.has(sha256) ? "intact" : "missing"),
    location: ROOT,
    linkOrigin: async () => null,
    checkWritable: async () => {},
    touch: async (sha256) => kept.has(sha256),
    sizeOf: async (sha256) => kept.get(sha256)?.length ?? null,
    hold: async () => ({
      path: (sha256) => `${root}${sha256}`,
      sizeBytes: (sha256) => kept.get(sha256)!.length,
      [Symbol.asyncDispose]: async () => {},
    }),
    read: async (sha256) => Readable.from(kept.get(sha256)!),
    link: async () => null,
    garbage: {
      purgeAfterMs: 0,
      async *list() {},
      discard: async () => false,
      async *discarded() {},
      restore: async () => false,
      purge: async () => {},
      removeLeftovers: async () => 0,
    },
  };
}

const probe = join(mkdtempSync(join(tmpdir(), "showrunner-adversary-")), "probe");
process.once("exit", () => rmSync(dirname(probe), { recursive: true, force: true }));

/** Replaces the inspection of a downloaded file in a thread; see files-in-memory.ts. */
export async function damageOf(path: string): Promise<string | null> {
  writeFileSync(probe, files.get(path)!);
  return missingEnd(probe, "image/png");
}
