import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { redactUrl } from "../../api/index.ts";
import { ForbiddenAddressError, ForbiddenUrlError, fetchForInput, unreached } from "../../network/index.ts";
import type { InputDoor } from "../options/options.ts";
import { MediaBucketError } from "./bucket/bucket-errors.ts";
import type { MediaStore, StoredMedia } from "./media-store.ts";

const MAX_BYTES = 1024 ** 3;
const MAX_MS = 10 * 60_000;

/** Errors omit the URL's query, which may be secret. */
export async function fetchFile(
  url: string,
  media: MediaStore,
  { inside, maxBytes = MAX_BYTES }: Pick<InputDoor, "inside"> & { readonly maxBytes?: number },
): Promise<StoredMedia | { readonly error: string }> {
  const shown = redactUrl(url);
  const path = media.tmpPath();
  try {
    const { status, body } = await fetchForInput(url, { inside, signal: AbortSignal.timeout(MAX_MS) });
    if (status < 200 || status > 299) {
      body.on("error", () => {}).destroy();
      return { error: `${shown} answered ${status}` };
    }
    await pipeline(body, atMost(maxBytes), createWriteStream(path, { mode: 0o600, flags: "wx" }));
    return await media.adopt(path);
  } catch (error) {
    if (error instanceof MediaBucketError) throw error;
    if (error instanceof ForbiddenAddressError) {
      const isAllowable = !(error instanceof ForbiddenUrlError);
      const next = isAllowable
        ? "; the operator can allow the URL's origin with `inside` (--inside on the command line)"
        : "";
      return { error: `${shown} was not fetched: ${error.message}${next}` };
    }
    return { error: `${shown} could not be fetched (${unreached(error, url) ?? reasonOf(error)})` };
  } finally {
    await rm(path, { force: true });
  }
}

function atMost(bytes: number): Transform {
  let remaining = bytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      remaining -= chunk.length;
      if (remaining < 0) done(new Error(`it exceeds ${bytes} bytes`));
      else done(null, chunk);
    },
  });
}

/** Prefers the cause, because the error's own message is often just "fetch failed". */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const inner = cause as (Error & { readonly code?: string }) | undefined;
  return inner?.code ?? inner?.message ?? message;
}
