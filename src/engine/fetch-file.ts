import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { redactUrl } from "../api/index.ts";
import type { MediaStore, StoredMedia } from "./media-store.ts";

const MAX_BYTES = 1024 ** 3;
const MAX_MS = 10 * 60_000;

/** Fetches a URL into the media store. What goes wrong is said without the URL's query, which may be a secret. */
export async function fetchFile(
  url: string,
  media: MediaStore,
  maxBytes = MAX_BYTES,
): Promise<StoredMedia | { readonly error: string }> {
  const shown = redactUrl(url);
  const path = media.tmpPath();
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(MAX_MS) });
    if (!answer.ok) {
      await answer.body?.cancel();
      return { error: `${shown} answered ${answer.status}` };
    }
    if (answer.body === null) return { error: `${shown} is empty` };
    await pipeline(
      Readable.fromWeb(answer.body),
      atMost(maxBytes),
      createWriteStream(path, { mode: 0o600, flags: "wx" }),
    );
    return await media.adopt(path);
  } catch (error) {
    return { error: `${shown} could not be fetched (${reasonOf(error)})` };
  } finally {
    await rm(path, { force: true });
  }
}

function atMost(bytes: number): Transform {
  let left = bytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(new Error(`it has more than ${bytes} bytes`));
      else done(null, chunk);
    },
  });
}

/** The cause says more than "fetch failed"; neither holds the URL. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const inner = cause as (Error & { readonly code?: string }) | undefined;
  return inner?.code ?? inner?.message ?? message;
}
