import { setTimeout } from "node:timers/promises";
import type { Bucket, BucketObject } from "./bucket.ts";
import { bucketError, MediaBucketError } from "./bucket-errors.ts";

/** Tries without a byte in between, before a broken transfer counts as one that cannot be had. */
const TRIES = 5;
const FIRST_DELAY_MS = 200;

/** The bytes of an object; a transfer that breaks off continues from where it was. @throws MediaBucketError */
export async function* fetchObject(bucket: Bucket, { key, sizeBytes }: BucketObject): AsyncGenerator<Uint8Array> {
  let received = 0;
  for (let failures = 0; received < sizeBytes; ) {
    const before = received;
    try {
      const found = await bucket.get(key, received === 0 ? undefined : { start: received });
      if (found === null) throw new Error("the object is gone");
      for await (const piece of found.body) {
        received += piece.byteLength;
        yield piece;
      }
      if (received < sizeBytes) throw new Error(`${received} of ${sizeBytes} bytes came`);
    } catch (error) {
      // What was asked for in vain was asked for often enough.
      if (error instanceof MediaBucketError) throw error;
      failures = received > before ? 1 : failures + 1;
      if (failures >= TRIES) throw bucketError(error, "Reading media from", bucket.location);
      await setTimeout(FIRST_DELAY_MS * 2 ** failures);
    }
  }
}
