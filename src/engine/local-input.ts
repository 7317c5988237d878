import { stat } from "node:fs/promises";
import type { LocalFile } from "../define/draft.ts";
import type { Json } from "../plan/plan.ts";
import type { MediaStore } from "./media-store.ts";

/** A result that a local function needs is not in the media store any more. */
export class InputGoneError extends Error {
  readonly code = "INPUT_GONE";
}

/** The stored bytes as a local function sees them. Throws {@link InputGoneError}. */
export async function localFile(
  media: MediaStore,
  { sha256, contentType }: { readonly sha256: string; readonly contentType: string },
): Promise<LocalFile> {
  const path = media.path(sha256);
  const found = await stat(path).catch(() => null);
  if (found === null) throw new InputGoneError(`a file that it reads (${sha256.slice(0, 12)}…) is gone from ${path}`);
  return { path, contentType, sha256, sizeBytes: found.size };
}

/** A resolved input with each `{ $file }` replaced by the file; everything else is a copy that the function may change. */
export async function localInput(input: Json, media: MediaStore): Promise<unknown> {
  if (typeof input !== "object" || input === null) return input;
  if (Array.isArray(input)) return Promise.all(input.map((item: Json) => localInput(item, media)));
  const record = input as { readonly [key: string]: Json };
  if (isFile(record)) return localFile(media, record.$file);
  const entries = Object.entries(record).map(async ([key, value]) => [key, await localInput(value, media)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Hashes of the stored bytes that an input names. */
export function filesOf(input: Json): readonly string[] {
  if (typeof input !== "object" || input === null) return [];
  if (!Array.isArray(input) && isFile(input)) return [input.$file.sha256];
  return Object.values(input).flatMap(filesOf);
}

function isFile(
  record: object,
): record is { readonly $file: { readonly sha256: string; readonly contentType: string } } {
  return "$file" in record;
}
