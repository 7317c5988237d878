import { createHash, randomUUID } from "node:crypto";
import type { ListMultipartUploadsCommand, ListMultipartUploadsCommandOutput, S3Client } from "@aws-sdk/client-s3";
import PQueue from "p-queue";
import { ShowrunnerError } from "../../../kit/errors.ts";
import { open } from "../../../kit/files.ts";
import { proxyAgents } from "../../../network/index.ts";
import { bucketError, damagedBucket } from "../media-errors.ts";
import { measureBytes, type Spooled } from "../media-files.ts";
import type { LinkOptions } from "../media-store.ts";
import {
  type Bucket,
  type BucketBody,
  type BucketLocation,
  type BucketObject,
  type BucketProbe,
  fetchObject,
} from "./bucket.ts";

/** Lifetime of a link, long enough for a player that requests parts of a video while it plays. */
const LINK_SECONDS = 900;
const COPY_BYTES = 5 * 2 ** 30;
const COPY_PART_BYTES = 2 ** 30;

interface UploadMarkers {
  readonly KeyMarker?: string | undefined;
  readonly UploadIdMarker?: string | undefined;
}

export class S3Bucket implements Bucket {
  readonly location: string;
  readonly #at: BucketLocation;
  readonly #s3: S3;
  readonly #upload: S3Upload;

  constructor(at: BucketLocation, s3: S3, options: { readonly partBytes?: number } = {}) {
    this.location = at.location;
    this.#at = at;
    this.#s3 = s3;
    this.#upload = new S3Upload(s3, options.partBytes);
  }

  async head(key: string): Promise<BucketObject | null> {
    const { HeadObjectCommand } = this.#s3.sdk;
    const found = await this.#try("Reading media from", () =>
      unlessMissing(this.#s3.client.send(new HeadObjectCommand(this.#target(key)))),
    );
    return found && this.#object(key, found.ContentLength, found.LastModified);
  }

  async put(key: string, file: Spooled): Promise<void> {
    const target = this.#target(key);
    const isProven = await this.#try("Writing media to", () => this.#upload.send(target, file));
    const stored = await this.head(key);
    if (stored?.sizeBytes === file.sizeBytes && (isProven || (await this.#holds(stored, file.sha256)))) return;
    throw damagedBucket(`${this.location} acknowledged an upload (${key}) but does not have the bytes that were sent.`);
  }

  async get(key: string, range?: { readonly start: number; readonly end?: number }): Promise<BucketBody | null> {
    const { GetObjectCommand } = this.#s3.sdk;
    const Range = range && `bytes=${range.start}-${range.end ?? ""}`;
    const found = await this.#try("Reading media from", () =>
      unlessMissing(this.#s3.client.send(new GetObjectCommand({ ...this.#target(key), Range }))),
    );
    if (found === null) return null;
    const sizeBytes = Number(found.ContentRange?.split("/")[1] ?? found.ContentLength);
    return { body: found.Body as unknown as AsyncIterable<Uint8Array>, sizeBytes };
  }

  async copy({ key, sizeBytes }: BucketObject, to: string): Promise<boolean> {
    const CopySource = encodeURI(`${this.#at.bucket}/${this.#at.prefix}${key}`);
    const done = await this.#try("Copying media in", () =>
      unlessMissing(
        sizeBytes > COPY_BYTES ? this.#copyInParts(CopySource, sizeBytes, to) : this.#copyAtOnce(CopySource, to),
      ),
    );
    return done !== null;
  }

  async delete(key: string): Promise<void> {
    const { DeleteObjectCommand } = this.#s3.sdk;
    await this.#try("Deleting media from", () => this.#s3.client.send(new DeleteObjectCommand(this.#target(key))));
  }

  async *list(prefix: string): AsyncIterable<BucketObject> {
    const { Bucket, Key: Prefix } = this.#target(prefix);
    let ContinuationToken: string | undefined;
    do {
      const command = new this.#s3.sdk.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken });
      const page = await this.#try("Listing media of", () => this.#s3.client.send(command));
      for (const { Key = "", Size, LastModified } of page.Contents ?? [])
        yield this.#object(Key.slice(this.#at.prefix.length), Size, LastModified);
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
  }

  async probe(): Promise<BucketProbe> {
    const key = `probe/${randomUUID()}`;
    const { PutObjectCommand } = this.#s3.sdk;
    const written = { ...this.#target(key), Body: Buffer.from(key) };
    await this.#try("Writing media to", () => this.#s3.client.send(new PutObjectCommand(written)));
    const clockOffsetMs = this.#s3.clockOffsetMs();
    const found = await this.head(key);
    if (found === null) throw damagedBucket(`${this.location} does not return an object that was just written.`);
    for await (const _ of fetchObject(this, found));
    await this.delete(key);
    return { clockOffsetMs };
  }

  async linkOrigin(): Promise<string | null> {
    const link = await this.link("media", { contentType: "image/png", disposition: "inline" });
    return link === null ? null : new URL(link).origin;
  }

  async link(key: string, { contentType, disposition }: LinkOptions): Promise<string | null> {
    if (!this.#at.links) return null;
    const command = new this.#s3.sdk.GetObjectCommand({
      ...this.#target(key),
      ResponseContentType: contentType,
      ResponseContentDisposition: disposition,
      ResponseCacheControl: `private, max-age=${LINK_SECONDS}`,
    });
    const { client, sign } = this.#s3;
    return this.#try("Signing a link to", () => sign(client, command, { expiresIn: LINK_SECONDS }));
  }

  async abortUploads({ olderThanMs, dryRun }: { readonly olderThanMs: number; readonly dryRun: boolean }) {
    const { client, sdk } = this.#s3;
    const { Bucket, Key: Prefix } = this.#target("");
    let count = 0;
    let after: UploadMarkers | null = {};
    while (after !== null) {
      const command: ListMultipartUploadsCommand = new sdk.ListMultipartUploadsCommand({ Bucket, Prefix, ...after });
      const page: ListMultipartUploadsCommandOutput = await this.#try("Listing uploads of", () => client.send(command));
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (this.#ageMs(Initiated) < olderThanMs) continue;
        count += 1;
        const abort = new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId });
        if (!dryRun) await this.#try("Aborting uploads of", () => unlessMissing(client.send(abort)));
      }
      after = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : null;
    }
    return count;
  }

  async #copyAtOnce(CopySource: string, to: string): Promise<void> {
    // An object can be copied onto itself only with new metadata.
    const command = { ...this.#target(to), CopySource, MetadataDirective: "REPLACE" } as const;
    await this.#s3.client.send(new this.#s3.sdk.CopyObjectCommand(command));
  }

  async #copyInParts(CopySource: string, sizeBytes: number, to: string): Promise<void> {
    const { client, sdk } = this.#s3;
    const target = this.#target(to);
    const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(target));
    try {
      const Parts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = [];
      for (let start = 0; start < sizeBytes; start += COPY_PART_BYTES) {
        const PartNumber = Parts.length + 1;
        const CopySourceRange = `bytes=${start}-${Math.min(start + COPY_PART_BYTES, sizeBytes) - 1}`;
        const command = new sdk.UploadPartCopyCommand({ ...target, UploadId, PartNumber, CopySource, CopySourceRange });
        Parts.push({ PartNumber, ETag: (await client.send(command)).CopyPartResult?.ETag });
      }
      await client.send(new sdk.CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }));
    } catch (error) {
      await client.send(new sdk.AbortMultipartUploadCommand({ ...target, UploadId })).catch(() => {});
      throw error;
    }
  }

  /**
   * Returns whether the stored object has this hash. Reads the object again to find out, because the server's ETag does
   * not prove that the bytes match.
   */
  async #holds(stored: BucketObject, sha256: string): Promise<boolean> {
    return (await measureBytes(fetchObject(this, stored))).sha256 === sha256;
  }

  #target(key: string) {
    return { Bucket: this.#at.bucket, Key: `${this.#at.prefix}${key}` };
  }

  #object(key: string, sizeBytes: number | undefined, at: Date | undefined): BucketObject {
    return { key, sizeBytes: sizeBytes ?? 0, ageMs: this.#ageMs(at) };
  }

  #ageMs(at: Date | undefined): number {
    return at === undefined ? 0 : Date.now() + this.#s3.clockOffsetMs() - at.getTime();
  }

  async #try<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw bucketError(error, doing, this.location);
    }
  }
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    const { name, $metadata } = error as Error & { readonly $metadata?: { readonly httpStatusCode?: number } };
    const isMissing = $metadata?.httpStatusCode === 404 && name !== "NoSuchBucket";
    if (isMissing) return null;
    throw error;
  }
}

/** Files larger than this are uploaded in parts of at least this size. Each part is kept in memory. */
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

class S3Upload {
  readonly #s3: S3;
  readonly #partBytes: number;
  readonly #queue = new PQueue({ concurrency: PARTS_AT_ONCE });

  constructor(s3: S3, partBytes = PART_BYTES) {
    this.#s3 = s3;
    this.#partBytes = partBytes;
  }

  /** Uploads a file. Returns false if the server's responses do not prove that the right bytes arrived. */
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
      // A retry after a lost response no longer finds the upload.
      const isKnown = await complete.then(
        () => true,
        (error: Error) => {
          if (error.name === "NoSuchUpload") return false;
          throw error;
        },
      );
      return isKnown && parts.every(({ isProven }) => isProven);
    } catch (error) {
      // If aborting fails, `gc` finds the upload later.
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
      if (bytesRead === 0) throw new Error(`${path} shrank while it was being uploaded`);
      filled += bytesRead;
    }
    const digest = createHash("md5").update(Body).digest();
    return { Body, ContentMD5: digest.toString("base64"), md5: digest.toString("hex") };
  }
}

/**
 * Returns true if an ETag is the object's MD5 hash. Servers other than AWS, and servers that encrypt objects, may use
 * other ETags.
 */
function isMd5(tag: string | undefined, md5: string): boolean {
  return tag?.replaceAll('"', "") === md5;
}

const PACKAGES = ["@aws-sdk/client-s3", "@aws-sdk/s3-request-presigner"] as const;

/** Media are stored in a bucket, but the packages needed for that are not installed. */
export class MediaPackageMissingError extends ShowrunnerError {
  readonly code = "MEDIA_PACKAGE_MISSING";
  readonly next = `npm i ${PACKAGES.join(" ")}`;

  constructor(cause: unknown) {
    super(`Storing media in a bucket needs two more packages: npm i ${PACKAGES.join(" ")}`, { cause });
  }
}

export interface Timeouts {
  readonly connectMs: number;
  /** Maximum time until the server starts to respond to a read or delete. */
  readonly readMs: number;
  /**
   * Maximum time until the server starts to respond to a request other than a read or delete. Includes the time to send
   * the request.
   */
  readonly answerMs: number;
  readonly idleMs: number;
  /** Maximum number of attempts per request. A request that times out is retried only once. */
  readonly attempts: number;
}

const TIMEOUTS: Timeouts = { connectMs: 5_000, readMs: 20_000, answerMs: 120_000, idleMs: 60_000, attempts: 6 };

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE"]);

export interface S3 {
  readonly sdk: typeof import("@aws-sdk/client-s3");
  readonly sign: typeof import("@aws-sdk/s3-request-presigner").getSignedUrl;
  readonly client: S3Client;
  clockOffsetMs(): number;
}

export async function connectS3(location: BucketLocation, timeouts: Partial<Timeouts> = {}): Promise<S3> {
  const { sdk, sign } = await load();
  const { connectMs, readMs, answerMs, idleMs, attempts } = { ...TIMEOUTS, ...timeouts };
  const { region = process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION ?? "us-east-1", endpoint } = location;
  const set = process.env.AWS_ENDPOINT_URL_S3 || process.env.AWS_ENDPOINT_URL || undefined;
  const client = new sdk.S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: location.pathStyle,
    maxAttempts: attempts,
    // Our hashes verify all bytes, and more non-AWS servers support MD5 than these checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      ...proxyAgents(new URL(endpoint ?? set ?? `https://${location.bucket}.s3.${region}.amazonaws.com`)),
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      socketTimeout: idleMs,
      throwOnRequestTimeout: true,
    },
  });
  const { requestHandler } = client.config;
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = (request, options) =>
    handle(request, { ...options, ...(READS.has(request.method) && { requestTimeout: readMs }) });
  let offsetMs = 0;
  client.middlewareStack.add(
    (next) => {
      let silences = 0;
      return async (args) => {
        const result = await next(args).catch((error: Error) => {
          if (error.name !== "TimeoutError" || ++silences < 2) throw error;
          // Renamed, because the SDK would retry an error with the original name.
          throw Object.assign(new Error(error.message), { name: "NoAnswerInTime" });
        });
        const { headers } = (result.response ?? {}) as { readonly headers?: Readonly<Record<string, string>> };
        const at = Date.parse(headers?.date ?? "");
        if (!Number.isNaN(at)) offsetMs = at - Date.now();
        return result;
      };
    },
    { step: "deserialize", name: "showrunnerClock", override: true },
  );
  return { sdk, sign, client, clockOffsetMs: () => offsetMs };
}

async function load() {
  try {
    const [sdk, { getSignedUrl: sign }] = await Promise.all([
      import("@aws-sdk/client-s3"),
      import("@aws-sdk/s3-request-presigner"),
    ]);
    return { sdk, sign };
  } catch (error) {
    throw isMissing(error) ? new MediaPackageMissingError(error) : error;
  }
}

function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === "ERR_MODULE_NOT_FOUND" && PACKAGES.some((name) => message.includes(`'${name}'`));
}
