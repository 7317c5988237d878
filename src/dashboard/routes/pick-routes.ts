import { createHash, randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { basename, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { badRequest, type Call, Refusal, type Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import type { PickedView } from "../views/action-wire.ts";

/** Largest file that can be picked, bytes; larger ones are given by their path. */
const MOST_BYTES = 2 ** 31;

/** Files that are picked in the browser: they come here as bytes and go into the input as a path. */
export function pickRoutes({ pickedDir }: Pick<DashboardContext, "pickedDir">): readonly Route[] {
  if (pickedDir === null) return [];
  const pick = async ({ incoming, query }: Call): Promise<PickedView> => {
    const name = safeName(query.get("name") ?? "");
    if (!/^application\/octet-stream\b/i.test(incoming.headers["content-type"] ?? "")) {
      throw new Refusal(415, "CONTENT_TYPE", "Send the bytes of the file, as application/octet-stream.");
    }
    if (Number(incoming.headers["content-length"] ?? 0) > MOST_BYTES) throw tooLarge();
    await mkdir(pickedDir, { recursive: true });
    const part = join(pickedDir, `${randomUUID()}.part`);
    try {
      const { sha256, sizeBytes } = await received(incoming, part);
      // By content: the same file picked again is the same path, and so the same input.
      const folder = join(pickedDir, sha256.slice(0, 16));
      await mkdir(folder, { recursive: true });
      const path = join(folder, name);
      await rename(part, path);
      return { path, sizeBytes };
    } finally {
      await rm(part, { force: true });
    }
  };
  return [{ method: "POST", path: "/api/files", handle: pick }];
}

async function received(incoming: IncomingMessage, path: string): Promise<{ sha256: string; sizeBytes: number }> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const counted = new Transform({
    transform(piece: Buffer, _encoding, done) {
      sizeBytes += piece.length;
      hash.update(piece);
      done(sizeBytes > MOST_BYTES ? tooLarge() : null, piece);
    },
  });
  try {
    await pipeline(incoming, counted, createWriteStream(path, { flags: "wx", mode: 0o600 }));
  } catch (error) {
    // A sender that hangs up is nothing that went wrong here.
    throw incoming.complete || error instanceof Refusal ? error : badRequest("The file was cut short.");
  }
  if (sizeBytes === 0) throw badRequest("The file is empty.");
  return { sha256: hash.digest("hex"), sizeBytes };
}

/** The name that people know the file by, as one plain part of a path. @throws Refusal 400 */
function safeName(given: string): string {
  const name = basename(given.replaceAll("\\", "/"))
    .replace(/[^\p{L}\p{N}._ -]/gu, "_")
    .slice(-100);
  if (!/[\p{L}\p{N}]/u.test(name) || name.startsWith(".")) throw badRequest("name must be the name of a file.");
  return name;
}

function tooLarge(): Refusal {
  return new Refusal(413, "TOO_LARGE", "A file of more than 2 GiB is not taken here; enter its path instead.");
}
