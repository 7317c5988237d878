import { setTimeout } from "node:timers/promises";
import { InvalidOptionError } from "../../../kit/errors.ts";
import { bucketError, MediaBucketError } from "../media-errors.ts";
import type { Spooled } from "../media-files.ts";
import type { LinkOptions } from "../media-store.ts";

export interface BucketObject {
  readonly key: string;
  readonly sizeBytes: number;
  /** Milliseconds since the object was written or copied, by the bucket's clock. */
  readonly ageMs: number;
}

export interface BucketProbe {
  readonly clockOffsetMs: number;
}

export interface BucketBody {
  readonly body: AsyncIterable<Uint8Array>;
  readonly sizeBytes: number;
}

/** The objects under one prefix of a bucket. An object becomes visible only when it is complete. */
export interface Bucket {
  readonly location: string;
  head(key: string): Promise<BucketObject | null>;
  put(key: string, file: Spooled): Promise<void>;
  get(key: string, range?: { readonly start: number; readonly end?: number }): Promise<BucketBody | null>;
  /** Copies an object. Copying it onto itself resets its age. Returns false if the object does not exist. */
  copy(from: BucketObject, to: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  list(prefix: string): AsyncIterable<BucketObject>;
  probe(): Promise<BucketProbe>;
  linkOrigin(): Promise<string | null>;
  link(key: string, options: LinkOptions): Promise<string | null>;
  abortUploads(options: { readonly olderThanMs: number; readonly dryRun: boolean }): Promise<number>;
}

/** A transfer fails after this many consecutive attempts that deliver no bytes. */
const TRIES = 5;
const FIRST_DELAY_MS = 200;

export async function* fetchObject(bucket: Bucket, { key, sizeBytes }: BucketObject): AsyncGenerator<Uint8Array> {
  let received = 0;
  for (let failures = 0; received < sizeBytes; ) {
    const before = received;
    try {
      const found = await bucket.get(key, received === 0 ? undefined : { start: received });
      if (found === null) throw new Error("the object no longer exists");
      for await (const piece of found.body) {
        received += piece.byteLength;
        yield piece;
      }
      if (received < sizeBytes) throw new Error(`only ${received} of ${sizeBytes} bytes arrived`);
    } catch (error) {
      // The SDK has already retried enough.
      if (error instanceof MediaBucketError) throw error;
      failures = received > before ? 1 : failures + 1;
      if (failures >= TRIES) throw bucketError(error, "Reading media from", bucket.location);
      await setTimeout(FIRST_DELAY_MS * 2 ** failures);
    }
  }
}

export interface BucketLocation {
  readonly bucket: string;
  readonly prefix: string;
  readonly location: string;
  /** Endpoint of a server other than AWS. Default: the SDK's setting (AWS_ENDPOINT_URL_S3). */
  readonly endpoint: string | undefined;
  /** The bucket's region. Default: the SDK's setting (AWS_REGION or profile), otherwise `us-east-1`. */
  readonly region: string | undefined;
  /** True to put the bucket's name into the URL's path instead of its host. Default: true if an endpoint is given. */
  readonly pathStyle: boolean;
  /** True to redirect browsers to the bucket with short-lived links; false to send media through the dashboard. */
  readonly links: boolean;
  readonly cacheBytes: number;
}

const NAMES = ["endpoint", "region", "path-style", "links", "cache"];
const EXAMPLE = "s3://bucket/prefix?region=eu-central-1";
const CACHE_BYTES = 20e9;
const UNITS: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

export function isBucketUrl(text: string): boolean {
  return /^s3:/i.test(text);
}

export function parseBucketUrl(text: string): BucketLocation {
  const url = URL.canParse(text) ? new URL(text) : null;
  // The URL may contain a secret, so messages never show it.
  if (url === null || !/^s3:\/\//i.test(text)) throw wrong("this is not a bucket URL");
  if (url.username !== "" || url.password !== "")
    throw wrong(
      "its URL contains credentials; give them to the AWS SDK instead (AWS_ACCESS_KEY_ID, a profile or a role)",
    );
  const bucket = url.hostname;
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw wrong("its URL must begin with s3:// and a valid bucket name");
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
  if (!/^[\w!.*'()/-]*$/.test(prefix)) throw wrong("its prefix can contain only letters, digits and !-_.*'()/");
  const options = url.searchParams;
  for (const name of options.keys())
    if (!NAMES.includes(name)) throw wrong(`its option "${name}" is unknown; use ${NAMES.join(", ")}`);
  const endpoint = options.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol)))
    throw wrong("its endpoint must begin with https:// or http://");
  return {
    bucket,
    prefix: prefix === "" ? "" : `${prefix}/`,
    location: `s3://${bucket}/${prefix}`,
    endpoint,
    region: options.get("region") ?? undefined,
    pathStyle: flag(options, "path-style", endpoint !== undefined),
    links: flag(options, "links", true),
    cacheBytes: sizeOf(options.get("cache")),
  };
}

function flag(options: URLSearchParams, name: string, byDefault: boolean): boolean {
  const value = options.get(name);
  if (value === null) return byDefault;
  if (value === "on" || value === "off") return value === "on";
  throw wrong(`its option ${name} must be on or off`);
}

function sizeOf(text: string | null): number {
  if (text === null) return CACHE_BYTES;
  const [, digits, unit] = /^(\d{1,6})(kB|MB|GB|TB)$/.exec(text) ?? [];
  if (unit === undefined) throw wrong('its option "cache" must be a size such as 500MB or 20GB');
  return Number(digits) * UNITS[unit]!;
}

function wrong(reason: string): InvalidOptionError {
  return new InvalidOptionError(
    "media",
    `the bucket cannot be used: ${reason}. Use a value such as ${EXAMPLE}.`,
    `SHOWRUNNER_MEDIA='${EXAMPLE}'`,
  );
}
