import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { lstat } from "node:fs/promises";
import { basename } from "node:path";
import { replaceDurably } from "../../kit/durable-file.ts";
import { ownVersion } from "../../kit/own-version.ts";
import { readMarks } from "../mark-file.ts";
import { type DigitalSourceType, NEWS_CODES } from "../xmp.ts";
import { CredentialsError, loadC2pa, OFFLINE, signableType } from "./c2pa-package.ts";

/** What is signed of how a file was made. */
export interface Claim {
  readonly digitalSourceType: DigitalSourceType;
  /** Of models that took part. */
  readonly models: readonly string[];
  /** A sentence. */
  readonly description: string;
  readonly ingredients: readonly Ingredient[];
}

/** A file that another was made from. */
export interface Ingredient {
  readonly title: string;
  readonly contentType: string;
  readonly sha256: string;
  readonly description: string;
}

export interface SignOptions extends SigningPair {
  readonly claim: Claim;
  /** The signed file; it may replace a plain file of the same kind, the one that is signed too. */
  readonly out: string;
  /** Whose packages are looked at first. Default: the current one. */
  readonly folder?: string;
}

/**
 * Signs a copy of a file with content credentials (C2PA), by the package `@contentauth/c2pa-node`. The target appears whole or
 * not at all. A file that has a manifest is refused, as a second would hide it. Throws Node's own errors. @throws CredentialsError
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
      `${name} is of no kind that can be signed`,
      "sign PNG, JPEG, WebP, GIF, MP4, MOV, M4A, WAV, MP3 or FLAC",
    );
  await checkTarget(out, mimeType);
  const c2pa = await loadC2pa(folder);
  if (await isSigned(path)) throw refused(`${name} is signed already`, "sign the file from before, or leave it");
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
    // What cannot be read may be a manifest; what has none answers with null.
    return c2pa.Reader.fromAsset(
      { path: file, mimeType: mimeType! },
      { verify: { ...OFFLINE, verify_after_reading: false } },
    ).then(
      (found) => found !== null,
      () => true,
    );
  }
}

/** Nothing but a plain file of the same kind is replaced, and no link followed. */
async function checkTarget(out: string, contentType: string): Promise<void> {
  const there = await lstat(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (there === null) return;
  const name = basename(out);
  if (there.isSymbolicLink()) throw refused(`${name} is a symbolic link`, "name the file that it leads to, or another");
  if (!there.isFile()) throw refused(`${name} is no plain file`, "name another file to write");
  if ((await signableType(out)) !== contentType)
    throw refused(`${name} is a file of another kind`, `name another file to write, of ${contentType}`);
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

/** Algorithm of C2PA by the curve of a key. */
const CURVES: Readonly<Record<string, string>> = { prime256v1: "es256", secp384r1: "es384", secp521r1: "es512" };

/** A certificate with those that lead to its root, and its key, as PEM. */
interface SigningPair {
  readonly certificate: string;
  readonly key: string;
}

/** A pair as the package takes it. @throws CredentialsError where it cannot sign a file now */
function signingKey({ certificate, key }: SigningPair, now: Date) {
  const leaf = parsed("The certificate", certificate, () => new X509Certificate(certificate));
  const secret = parsed("The key", key, () => createPrivateKey(key));
  if (leaf.ca)
    throw unfit("The certificate is one of an authority", "give your own first, then those that lead to its root");
  if (!leaf.checkPrivateKey(secret))
    throw unfit("The key is not that of the first certificate", "give both of one pair");
  if (now < new Date(leaf.validFrom) || now > new Date(leaf.validTo))
    throw unfit(`The certificate is valid from ${leaf.validFrom} to ${leaf.validTo}, not now`, "give a current one");
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
    throw unfit("The key is of no kind that C2PA signs with", "give one of P-256, P-384, P-521, Ed25519 or RSA");
  return curve;
}

function parsed<T>(what: string, pem: string, parse: () => T): T {
  if (/BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem))
    throw unfit(
      `${what} is encrypted`,
      "decrypt it into a file that only you can read: openssl pkey -in KEY -out PLAIN",
    );
  try {
    return parse();
  } catch (cause) {
    throw unfit(`${what} is no PEM that can be read`, "give a file that begins with -----BEGIN", cause);
  }
}

function unfit(what: string, next: string, cause?: unknown): CredentialsError {
  return new CredentialsError(`${what}: ${next}.`, null, { cause });
}
