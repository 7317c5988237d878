import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import PQueue from "p-queue";
import type { Spooled } from "../media-files.ts";
import type { S3 } from "./s3-client.ts";

/** Larger files go up in parts of at least this size; each that is under way is in memory. */
const PART_BYTES = 8 * 2 ** 20;
const PARTS_AT_ONCE = 4;
const MOST_PARTS = 10_000;

interface Target {
  readonly Bucket: string;
  readonly Key: string;
}

interface Part {
  readonly PartNumber: number;
  readonly ETag: string | undefined;
}

/**
 * Sends files to a bucket, each in one request or in parts. Each request carries the MD5 of what it holds, which the server
 * compares; the object appears with the last request, whole.
 */
export class S3Upload {
  readonly #s3: S3;
  readonly #partBytes: number;
  /** For all files together, so that memory stays bounded. */
  readonly #queue = new PQueue({ concurrency: PARTS_AT_ONCE });

  constructor(s3: S3, partBytes = PART_BYTES) {
    this.#s3 = s3;
    this.#partBytes = partBytes;
  }

  /** False where the server's answers do not prove that it has what was sent. */
  async send(target: Target, file: Spooled): Promise<boolean> {
    if (file.sizeBytes > this.#partBytes) return this.#inParts(target, file);
    return this.#queue.add(async () => {
      const { Body, ContentMD5, md5 } = await this.#piece(file, 0, file.sizeBytes);
      const { PutObjectCommand } = this.#s3.sdk;
      const { ETag } = await this.#s3.client.send(new PutObjectCommand({ ...target, Body, ContentMD5 }));
      return isMd5(ETag, md5);
    });
  }

  async #inParts(target: Target, file: Spooled): Promise<boolean> {
    const { client, sdk } = this.#s3;
    const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(target));
    try {
      const size = Math.max(this.#partBytes, Math.ceil(file.sizeBytes / MOST_PARTS));
      const starts = Array.from({ length: Math.ceil(file.sizeBytes / size) }, (_, at) => at * size);
      const stop = new AbortController();
      const sent = await Promise.allSettled(
        starts.map((start, at) =>
          this.#queue
            .add(() =>
              this.#part({ ...target, UploadId, PartNumber: at + 1 }, file, { start, size, signal: stop.signal }),
            )
            .catch((error: unknown) => {
              stop.abort(error);
              throw error;
            }),
        ),
      );
      stop.signal.throwIfAborted();
      const parts = sent.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      const MultipartUpload = { Parts: parts.map(({ PartNumber, ETag }) => ({ PartNumber, ETag })) };
      const complete = client.send(new sdk.CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload }));
      // Sent again because its answer was lost, it finds the upload no more.
      const isKnown = await complete.then(
        () => true,
        (error: Error) => {
          if (error.name === "NoSuchUpload") return false;
          throw error;
        },
      );
      return isKnown && parts.every(({ isProven }) => isProven);
    } catch (error) {
      // What cannot be aborted now is found by `gc`.
      await client.send(new sdk.AbortMultipartUploadCommand({ ...target, UploadId })).catch(() => {});
      throw error;
    }
  }

  async #part(
    target: Target & { readonly UploadId: string | undefined; readonly PartNumber: number },
    file: Spooled,
    { start, size, signal }: { readonly start: number; readonly size: number; readonly signal: AbortSignal },
  ): Promise<Part & { readonly isProven: boolean }> {
    signal.throwIfAborted();
    const { Body, ContentMD5, md5 } = await this.#piece(file, start, Math.min(size, file.sizeBytes - start));
    const command = new this.#s3.sdk.UploadPartCommand({ ...target, Body, ContentMD5 });
    const { ETag } = await this.#s3.client.send(command, { abortSignal: signal });
    return { PartNumber: target.PartNumber, ETag, isProven: isMd5(ETag, md5) };
  }

  async #piece({ path }: Spooled, start: number, length: number) {
    await using file = await open(path, "r");
    const Body = Buffer.allocUnsafe(length);
    for (let filled = 0; filled < length; ) {
      const { bytesRead } = await file.read(Body, filled, length - filled, start + filled);
      if (bytesRead === 0) throw new Error(`${path} became shorter while it was sent`);
      filled += bytesRead;
    }
    const digest = createHash("md5").update(Body).digest();
    return { Body, ContentMD5: digest.toString("base64"), md5: digest.toString("hex") };
  }
}

/** Servers that encrypt, or are not AWS, may make tags of another kind. */
function isMd5(tag: string | undefined, md5: string): boolean {
  return tag?.replaceAll('"', "") === md5;
}
