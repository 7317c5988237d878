import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { open } from "../../core/kit/file-handle.ts";
import { usageError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

/** How a file of each kind that a command writes begins, and what it is called. */
const KINDS = {
  html: { begins: /^\s*<!doctype html/i, named: "an HTML page" },
  svg: { begins: /^\s*<(?:svg|\?xml)/i, named: "an SVG picture" },
  otio: { begins: /^\s*\{/, named: "a timeline" },
} as const;

/**
 * The path of a file that a flag names for a command to write. Throws CliError `USAGE` where something of another kind lies
 * there, as a film that was paid for: one mistyped name is not to cost it. An earlier file of the same kind is replaced.
 */
export async function writtenFile(
  cwd: string,
  { flag, path, kind }: { readonly flag: string; readonly path: string; readonly kind: keyof typeof KINDS },
): Promise<string> {
  const file = resolve(cwd, path);
  const { begins, named } = KINDS[kind];
  const head = await headOf(file);
  if (head === "" || begins.test(head)) return file;
  throw usageError(
    `${flag}: ${visible(path)} already exists and is not ${named}; nothing was written`,
    `give another name: ${flag} NAME.${kind}`,
  );
}

/** The first bytes of a plain file, where links lead too; empty where there is none, or nothing in it. */
async function headOf(file: string): Promise<string> {
  // A named pipe would keep whoever opens it waiting for a writer.
  if ((await stat(file).catch(() => null))?.isFile() !== true) return "";
  const handle = await open(file, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await handle.close();
  }
}
