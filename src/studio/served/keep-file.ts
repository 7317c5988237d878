import { createHash, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { badRequest, type Refusal } from "./refusal.ts";

interface Kept {
  readonly folder: string;
  /** If the sender's name is a path, only the last part is used. */
  readonly name: string;
  readonly mostBytes: number;
  tooLarge(): Refusal;
  makeOwn?(own: string): Promise<unknown>;
}

/** Sending the same file again gives the same path. @throws Refusal 400, or the result of `tooLarge` */
export async function keepFile(
  bytes: AsyncIterable<Uint8Array>,
  { folder, name: given, mostBytes, tooLarge, makeOwn = makeFolder }: Kept,
): Promise<{ readonly path: string; readonly sizeBytes: number }> {
  const name = safeName(given);
  await makeFolder(folder);
  const part = join(folder, `${randomUUID()}.part`);
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const counted = new Transform({
    transform(piece: Uint8Array, _encoding, done) {
      sizeBytes += piece.length;
      hash.update(piece);
      done(sizeBytes > mostBytes ? tooLarge() : null, piece);
    },
  });
  try {
    await pipeline(bytes, counted, createWriteStream(part, { flags: "wx", mode: 0o600 }));
    if (sizeBytes === 0) throw badRequest(`The file ${name} is empty.`);
    const own = join(folder, hash.digest("hex"));
    await makeOwn(own);
    const path = join(own, name);
    await rename(part, path);
    return { path, sizeBytes };
  } finally {
    await rm(part, { force: true });
  }
}

const makeFolder = (path: string) => mkdir(path, { recursive: true, mode: 0o700 });

function safeName(given: string): string {
  const name = basename(given.replaceAll("\\", "/"))
    .replace(/[^\p{L}\p{N}._ -]/gu, "_")
    .slice(-80); // at most 240 bytes; a file name can have 255
  if (!/[\p{L}\p{N}]/u.test(name) || name.startsWith(".")) throw badRequest("`name` must be a file name.", "name");
  return name;
}
