import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ShowrunnerError } from "../../kit/errors.ts";
import { openSource, UnmarkableError } from "../source.ts";

const NAME = "@contentauth/c2pa-node";
/** Version 0.9.8 depends on a package that is not on npm. */
const INSTALL = `npm install ${NAME}@0.8.0`;

interface Asset {
  readonly path: string;
  readonly mimeType?: string;
}

export interface C2pa {
  readonly Builder: {
    withJson(claim: object, settings: object): { sign(signer: object, from: Asset, to: Asset): unknown };
  };
  readonly LocalSigner: { newSigner(certificate: Buffer, key: Buffer, algorithm: string): object };
  readonly Reader: { fromAsset(asset: Asset, settings: object): Promise<{ json(): unknown } | null> };
}

/** Keeps the package from fetching URLs in a file. */
export const OFFLINE = { remote_manifest_fetch: false, ocsp_fetch: false } as const;

/** Loads the package from the project of `folder`, otherwise from Showrunner's own; null if it is not installed. */
export async function findC2pa(folder: string): Promise<C2pa | null> {
  for (const place of [join(folder, "package.json"), import.meta.url]) {
    const path = resolved(place);
    if (path === null) continue;
    try {
      return (await import(/* @vite-ignore */ pathToFileURL(path).href)) as C2pa;
    } catch (cause) {
      throw new CredentialsError(`${NAME} is installed but cannot be loaded: ${String(cause)}.`, INSTALL, { cause });
    }
  }
  return null;
}

export async function loadC2pa(folder: string): Promise<C2pa> {
  const found = await findC2pa(folder);
  if (found === null) throw new CredentialsError(`Signing needs the package ${NAME}, which is not installed.`, INSTALL);
  return found;
}

function resolved(place: string): string | null {
  try {
    return createRequire(place).resolve(NAME);
  } catch {
    return null;
  }
}

/**
 * A file cannot be signed, or the package, certificate or key needed for it is missing or unusable. Nothing was
 * written.
 */
export class CredentialsError extends ShowrunnerError {
  readonly code = "CREDENTIALS";
  /** A command that fixes the problem, or null. */
  readonly next: string | null;

  constructor(message: string, next: string | null, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.next = next;
  }
}

const HEAD_BYTES = 4100;

const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  mp4: "video/mp4",
  mov: "video/quicktime",
  m4a: "audio/mp4",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  flac: "audio/flac",
};

/** Returns the content type according to a file's bytes; null if such files cannot contain credentials. */
export async function signableType(path: string): Promise<string | null> {
  const { fileTypeFromBuffer } = await import("file-type");
  try {
    await using source = await openSource(path);
    const found = await fileTypeFromBuffer(await source.read(0, Math.min(HEAD_BYTES, source.sizeBytes)));
    return TYPES[found?.ext ?? ""] ?? null;
  } catch (error) {
    if (error instanceof UnmarkableError) return null;
    throw error;
  }
}
