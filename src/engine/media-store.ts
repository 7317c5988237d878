import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { copyFile, link, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

export interface MediaStore {
  put(
    source: { readonly path: string } | { readonly bytes: Uint8Array },
  ): Promise<{ sha256: string; sizeBytes: number }>;
  has(sha256: string): Promise<boolean>;
  path(sha256: string): string;
  tmpPath(): string;
  adopt(tmpPath: string): Promise<{ sha256: string; sizeBytes: number }>;
  place(sha256: string, outDir: string, name: string): Promise<string>;
}

export async function openMediaStore(dir: string): Promise<MediaStore> {
  const tmp = join(dir, "tmp");
  await mkdir(tmp, { recursive: true });
  const path = (sha256: string) => join(dir, sha256.slice(0, 2), sha256);
  const tmpPath = () => join(tmp, randomUUID());
  const adopt = async (from: string) => {
    const hash = createHash("sha256");
    for await (const piece of createReadStream(from)) hash.update(piece as Buffer);
    const sha256 = hash.digest("hex");
    const { size } = await stat(from);
    await mkdir(dirname(path(sha256)), { recursive: true });
    await rename(from, path(sha256));
    return { sha256, sizeBytes: size };
  };
  return {
    path,
    tmpPath,
    adopt,
    has: (sha256) =>
      stat(path(sha256)).then(
        () => true,
        () => false,
      ),
    async put(source) {
      const target = tmpPath();
      if ("bytes" in source) {
        const file = await open(target, "wx");
        await file.writeFile(source.bytes);
        await file.sync();
        await file.close();
      } else
        await pipeline(
          createReadStream(source.path),
          new Transform({ transform: (c, _e, cb) => cb(null, c) }),
          createWriteStream(target),
        );
      return adopt(target);
    },
    async place(sha256, outDir, name) {
      const target = resolve(outDir, name);
      const inside = relative(resolve(outDir), target);
      if (inside.startsWith("..") || isAbsolute(inside)) throw new Error("outside");
      await mkdir(dirname(target), { recursive: true });
      await rm(target, { force: true });
      await link(path(sha256), target).catch(() => copyFile(path(sha256), target));
      return inside;
    },
  };
}
