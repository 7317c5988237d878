import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { open } from "../../core/kit/files.ts";
import { usageError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

const KINDS = {
  html: { begins: /^\s*<!doctype html.*<meta name="generator" content="Showrunner /is, named: "a Showrunner report" },
  svg: { begins: /^\s*(?:<\?xml.*)?<svg\b/is, named: "an SVG image" },
  otio: { begins: /^\s*\{.*"OTIO_SCHEMA"/s, named: "a timeline" },
} as const;

/**
 * Returns the path of a file to write. Refuses to overwrite an existing file of a different kind, in case the name is a
 * typo.
 */
export async function writtenFile(
  cwd: string,
  { flag, path, kind }: { readonly flag: string; readonly path: string; readonly kind: keyof typeof KINDS },
): Promise<string> {
  const file = resolve(cwd, path);
  const { begins, named } = KINDS[kind];
  const head = await headOf(file);
  if (head === "" || (head !== null && begins.test(head))) return file;
  throw usageError(
    `${flag}: ${visible(path)} already exists and is not ${named}; nothing was written`,
    `choose another name: ${flag} NAME.${kind}`,
  );
}

const HEAD_BYTES = 4096;

/** Returns the start of a file, null for a folder, or "" if the path is missing or is a special file. */
export async function headOf(file: string): Promise<string | null> {
  const kind = await kindOf(file);
  if (kind === "folder") return null;
  // Opening a named pipe would block until it has a writer.
  if (kind !== "file") return "";
  const handle = await open(file, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

export async function kindOf(path: string): Promise<"file" | "folder" | "missing" | "other"> {
  const found = await stat(path).catch(() => null);
  if (found === null) return "missing";
  return found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
}

const MOST_BYTES = 64 * 2 ** 20;

/** Reads a file. Throws once it has read more than `mostBytes`, because reading a device may never end. */
export async function readNamed(path: string, mostBytes = MOST_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(path)) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`it is larger than ${mostBytes / 2 ** 20} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
