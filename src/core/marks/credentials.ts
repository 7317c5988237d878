import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { lstat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { type CleanText, cleanText } from "../kit/clean-text.ts";
import { ShowrunnerError } from "../kit/errors.ts";
import { replaceDurably } from "../kit/files.ts";
import { ownVersion } from "../kit/own-version.ts";
import { readMarks } from "./mark-file.ts";
import { type DigitalSourceType, NEWS_CODES, openSource, UnmarkableError } from "./source.ts";

export interface Claim {
  readonly digitalSourceType: DigitalSourceType;
  readonly models: readonly string[];
  readonly description: string;
  readonly ingredients: readonly Ingredient[];
}

export interface Ingredient {
  readonly title: string;
  readonly contentType: string;
  readonly sha256: string;
  readonly description: string;
}

interface SignOptions extends SigningPair {
  readonly claim: Claim;
  /** Path of the signed file. An existing file of the same type is replaced, even the source file itself. */
  readonly out: string;
  readonly folder?: string;
}

/**
 * Signs a copy of a file with content credentials (C2PA). Refuses a file that already has a manifest, because a second
 * one would hide it.
 * @throws CredentialsError
 */
export async function signFile(
  path: string,
  { claim, out, folder = process.cwd(), ...pair }: SignOptions,
): Promise<void> {
  const key = signingKey(pair, new Date());
  const name = basename(path);
  const mimeType = await signableType(path);
  if (mimeType === null)
    throw refused(
      `${name} is in a format that cannot be signed`,
      "sign PNG, JPEG, WebP, GIF, MP4, MOV, M4A, WAV, MP3 or FLAC",
    );
  await checkTarget(out, mimeType);
  const c2pa = await loadC2pa(folder);
  if (await isSigned(path)) throw refused(`${name} is already signed`, "sign the unsigned original instead");
  const builder = c2pa.Builder.withJson(definition(claim, name, mimeType), {
    verify: OFFLINE,
    builder: { thumbnail: { enabled: false } },
  });
  await replaceDurably(out, async (_, temporary) => {
    try {
      const signer = c2pa.LocalSigner.newSigner(key.certificate, key.key, key.algorithm);
      builder.sign(signer, { path, mimeType }, { path: temporary });
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new CredentialsError(`${name} was not signed: ${text}.`, null, { cause });
    }
  });

  async function isSigned(file: string): Promise<boolean> {
    if ((await readMarks(file)).contentCredentials !== null) return true;
    // Null means that there is no manifest. An error may be due to an unreadable manifest.
    return c2pa.Reader.fromAsset(
      { path: file, mimeType: mimeType! },
      { verify: { ...OFFLINE, verify_after_reading: false } },
    ).then(
      (found) => found !== null,
      () => true,
    );
  }
}

async function checkTarget(out: string, contentType: string): Promise<void> {
  const there = await lstat(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (there === null) return;
  const name = basename(out);
  if (there.isSymbolicLink())
    throw refused(`${name} is a symbolic link`, "write to the link's target or to another file");
  if (!there.isFile()) throw refused(`${name} is not a regular file`, "write to another file");
  if ((await signableType(out)) !== contentType)
    throw refused(`${name} has another format`, `write to a new file, or to an existing file of type ${contentType}`);
}

function definition({ digitalSourceType, models, description, ingredients }: Claim, title: string, format: string) {
  const action = {
    action: "c2pa.created",
    digitalSourceType: `${NEWS_CODES}${digitalSourceType}`,
    description,
    ...(models.length > 0 && { softwareAgent: { name: models.join(", ") } }),
  };
  return {
    title,
    format,
    claim_generator_info: [{ name: "showrunner", version: ownVersion() }],
    assertions: [{ label: "c2pa.actions.v2", data: { actions: [action] } }],
    ingredients: ingredients.map(({ title, contentType, sha256, description }) => ({
      title,
      format: contentType,
      instance_id: `sha256:${sha256}`,
      description,
      relationship: "inputTo",
    })),
  };
}

function refused(what: string, next: string): CredentialsError {
  return new CredentialsError(`${what}: ${next}.`, null);
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: "es256", secp384r1: "es384", secp521r1: "es512" };

/** A certificate chain up to its root, and the key of its first certificate, both as PEM. */
interface SigningPair {
  readonly certificate: string;
  readonly key: string;
}

function signingKey({ certificate, key }: SigningPair, now: Date) {
  const leaf = parsed("The certificate", certificate, () => new X509Certificate(certificate));
  const secret = parsed("The key", key, () => createPrivateKey(key));
  if (leaf.ca)
    throw unfit(
      "The first certificate is a CA certificate",
      "put your own certificate first, then its issuers up to the root",
    );
  if (!leaf.checkPrivateKey(secret)) throw unfit("The key does not match the first certificate", "use a matching pair");
  if (now < new Date(leaf.validFrom) || now > new Date(leaf.validTo))
    throw unfit(`The certificate is valid only from ${leaf.validFrom} to ${leaf.validTo}`, "use a valid certificate");
  return {
    certificate: Buffer.from(certificate),
    key: Buffer.from(secret.export({ type: "pkcs8", format: "pem" })),
    algorithm: algorithmOf(secret),
  };
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (asymmetricKeyType === "ed25519") return "ed25519";
  if (asymmetricKeyType === "rsa" || asymmetricKeyType === "rsa-pss") return "ps256";
  const curve = CURVES[asymmetricKeyDetails?.namedCurve ?? ""];
  if (curve === undefined)
    throw unfit("C2PA cannot sign with this type of key", "use P-256, P-384, P-521, Ed25519 or RSA");
  return curve;
}

function parsed<T>(what: string, pem: string, parse: () => T): T {
  if (/BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem))
    throw unfit(`${what} is encrypted`, "decrypt it to a file that only you can read: openssl pkey -in KEY -out PLAIN");
  try {
    return parse();
  } catch (cause) {
    throw unfit(`${what} is not readable PEM`, "use a file that begins with -----BEGIN", cause);
  }
}

function unfit(what: string, next: string, cause?: unknown): CredentialsError {
  return new CredentialsError(`${what}: ${next}.`, null, { cause });
}

export interface Credentials {
  /**
   * `trusted`: the manifest matches the file, and the signer's certificate chains to one in `trust`. `unknown-signer`:
   * it matches, but anyone could have signed it. `tampered`: the file or the manifest was changed after signing.
   * `invalid`: the check failed for another reason; see `failures`.
   */
  readonly state: "trusted" | "unknown-signer" | "tampered" | "invalid";
  /** The name in the signer's certificate. It is verified only if `state` is `trusted`. */
  readonly signer: CleanText | null;
  readonly digitalSourceTypes: readonly CleanText[];
  readonly ingredients: readonly CleanText[];
  readonly failures: readonly CleanText[];
}

/**
 * Reads a file's content credentials. `trust` contains certificates in PEM format. Returns null if the file has no
 * credentials, and `unread` if the package that reads them is not installed.
 */
export async function readCredentials(
  path: string,
  { folder, trust }: { readonly folder: string; readonly trust?: string },
): Promise<Credentials | "unread" | null> {
  const mimeType = await signableType(path);
  if (mimeType === null) return null;
  const c2pa = await findC2pa(folder);
  if (c2pa === null) return "unread";
  const settings = {
    verify: { ...OFFLINE, verify_trust: true },
    ...(trust !== undefined && { trust: { user_anchors: trust, verify_trust_list: true } }),
  };
  try {
    const reader = await c2pa.Reader.fromAsset({ path, mimeType }, settings);
    return reader === null ? null : credentialsIn(storeSchema().parse(reader.json()));
  } catch (error) {
    const failures = [cleanText(error instanceof Error ? error.message : String(error))];
    return { state: "invalid", signer: null, digitalSourceTypes: [], ingredients: [], failures };
  }
}

/** Returns the schema of a C2PA manifest store. Built on demand, because few programs read credentials. */
const storeSchema = () =>
  z.object({
    active_manifest: z.string().nullish(),
    manifests: z
      .record(
        z.string(),
        z.object({
          signature_info: z.object({ common_name: z.string().nullish(), issuer: z.string().nullish() }).nullish(),
          ingredients: z.array(z.object({ title: z.string().nullish() })).nullish(),
          assertions: z.array(z.object({ label: z.string(), data: z.unknown() })).nullish(),
        }),
      )
      .nullish(),
    validation_state: z.string().nullish(),
    validation_status: z.array(z.object({ code: z.string() })).nullish(),
  });

function credentialsIn(store: z.output<ReturnType<typeof storeSchema>>): Credentials {
  const manifest = store.manifests?.[store.active_manifest ?? ""];
  const { common_name: name, issuer } = manifest?.signature_info ?? {};
  const signer = [name, issuer].filter((part) => part != null && part !== "").join(", ");
  const failures = (store.validation_status ?? []).map(({ code }) => code);
  const actions = z.object({ actions: z.array(z.object({ digitalSourceType: z.string().optional() })) });
  const types = (manifest?.assertions ?? [])
    .filter(({ label }) => label.startsWith("c2pa.actions"))
    .flatMap(({ data }) => actions.safeParse(data).data?.actions ?? [])
    .flatMap(({ digitalSourceType }) => digitalSourceType ?? []);
  return {
    state: stateOf(store.validation_state, failures),
    signer: signer === "" ? null : cleanText(signer),
    digitalSourceTypes: [...new Set(types)].map((type) => cleanText(type)),
    ingredients: (manifest?.ingredients ?? []).map(({ title }) => cleanText(title ?? "untitled")),
    failures: failures.map((failure) => cleanText(failure)),
  };
}

function stateOf(state: string | null | undefined, failures: readonly string[]): Credentials["state"] {
  if (state === "Trusted") return "trusted";
  if (state === "Valid") return "unknown-signer";
  return failures.some((code) => code.endsWith(".mismatch")) ? "tampered" : "invalid";
}

const NAME = "@contentauth/c2pa-node";
/** The command that installs the package. It installs 0.8.0, because 0.9.8 depends on a package that is not on npm. */
const INSTALL = `npm install ${NAME}@0.8.0`;

interface Asset {
  readonly path: string;
  readonly mimeType?: string;
}

interface C2pa {
  readonly Builder: {
    withJson(claim: object, settings: object): { sign(signer: object, from: Asset, to: Asset): unknown };
  };
  readonly LocalSigner: { newSigner(certificate: Buffer, key: Buffer, algorithm: string): object };
  readonly Reader: { fromAsset(asset: Asset, settings: object): Promise<{ json(): unknown } | null> };
}

/** Keeps c2pa-node from fetching the URLs that a file contains. */
const OFFLINE = { remote_manifest_fetch: false, ocsp_fetch: false } as const;

/** Loads c2pa-node from the project in `folder`, or else from Showrunner's dependencies; null if neither has it. */
async function findC2pa(folder: string): Promise<C2pa | null> {
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

async function loadC2pa(folder: string): Promise<C2pa> {
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

/** Returns the content type detected from a file's bytes; null if files of that type cannot contain credentials. */
async function signableType(path: string): Promise<string | null> {
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
