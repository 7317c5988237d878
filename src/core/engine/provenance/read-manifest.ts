import { measureBytes } from "../media/media-files.ts";
import { openNamedFile } from "../media/open-file.ts";
import { manifestName } from "./provenance.ts";
import { type Manifest, manifestSchema } from "./provenance-schema.ts";

/** A manifest of more bytes is none of ours. */
const MOST_BYTES = 8 * 1024 * 1024;

/** The manifest beside a file; null where none lies there that can be read. */
export async function readManifest(path: string): Promise<Manifest | null> {
  try {
    await using there = await openNamedFile(manifestName(path), null);
    if ((await there.file.stat()).size > MOST_BYTES) return null;
    const read = manifestSchema.safeParse(JSON.parse(await there.file.readFile("utf8")));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

/** SHA-256 of a file's bytes, in hex. Throws Node's own errors, and `ForbiddenFileError` for what is no file. */
export async function fileHash(path: string): Promise<string> {
  await using there = await openNamedFile(path, null);
  return (await measureBytes(there.file.createReadStream({ autoClose: false }))).sha256;
}
