import { join, resolve } from "node:path";
import { type Bucket, isBucketUrl, parseBucketUrl } from "./bucket/bucket.ts";
import { openMediaStore } from "./folder-store.ts";
import type { MediaStore } from "./media-store.ts";

export interface MediaOptions {
  /**
   * The folder or bucket (`s3://bucket/prefix`) that stores media. Default: the environment variable SHOWRUNNER_MEDIA,
   * otherwise `mediaDir`.
   */
  readonly media?: string | undefined;
  /** Local folder for media or, if the media are in a bucket, for cached copies. */
  readonly mediaDir: string;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** True to open the folder without writing to it. Default: false. */
  readonly isReadOnly?: boolean;
}

export async function openMedia(options: MediaOptions): Promise<MediaStore> {
  const location = locationOf(options);
  if (!isBucketUrl(location)) return openMediaStore(location, options);
  const [{ BucketStore, MediaCache }, bucket] = await Promise.all([
    import("./bucket/bucket-store.ts"),
    openBucket(location),
  ]);
  const cache = await MediaCache.open(join(options.mediaDir, "cache"), parseBucketUrl(location).cacheBytes);
  return new BucketStore(bucket, cache);
}

export interface MediaCheck {
  readonly location: string;
  /** How far the bucket's clock is ahead of this machine's, in milliseconds; null for a folder. */
  readonly clockOffsetMs: number | null;
}

/** Tests the configured store by writing to it and, if it is a bucket, also reading and deleting. Throws on failure. */
export async function checkMedia(options: MediaOptions): Promise<MediaCheck> {
  const location = locationOf(options);
  if (!isBucketUrl(location)) return { location: (await openMediaStore(location)).location, clockOffsetMs: null };
  const bucket = await openBucket(location);
  return { location: bucket.location, ...(await bucket.probe()) };
}

function locationOf({ media, mediaDir, env = process.env }: MediaOptions): string {
  const location = media || env.SHOWRUNNER_MEDIA || mediaDir;
  return isBucketUrl(location) ? location : resolve(location);
}

async function openBucket(url: string): Promise<Bucket> {
  const at = parseBucketUrl(url);
  const { S3Bucket, connectS3 } = await import("./bucket/s3-bucket.ts");
  return new S3Bucket(at, await connectS3(at));
}
