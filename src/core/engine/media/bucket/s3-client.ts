import type { S3Client } from "@aws-sdk/client-s3";
import { ShowrunnerError } from "../../../kit/errors.ts";
import { proxyAgents } from "../../../network/index.ts";
import type { BucketLocation } from "./bucket.ts";

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
  /** Maximum time until the server starts to respond to any other request, including the time to send it. */
  readonly answerMs: number;
  readonly idleMs: number;
  /** Maximum number of attempts per request. A request that times out is repeated only once. */
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
