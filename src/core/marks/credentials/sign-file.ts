import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { lstat } from "node:fs/promises";
import { basename } from "node:path";
import { replaceDurably } from "../../kit/durable-file.ts";
import { ownVersion } from "../../kit/own-version.ts";
import { readMarks } from "../mark-file.ts";
import { type DigitalSourceType, NEWS_CODES } from "../xmp.ts";
import { CredentialsError, loadC2pa, OFFLINE, signableType } from "./c2pa-package.ts";

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

export interface SignOptions extends SigningPair {
  readonly claim: Claim;
  /** Path of the signed file. An existing file of the same type is replaced, even the source file itself. */
  readonly out: string;
  readonly folder?: string;
}

/**
 * Signs a copy of a file with content credentials (C2PA). Refuses a file with a manifest, because a second one would
 * hide it.
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
      `${name} has a format that cannot be signed`,
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
  if (there.isSymbolicLink()) throw refused(`${name} is a symbolic link`, "use the link's target or another file");
  if (!there.isFile()) throw refused(`${name} is not a regular file`, "write to another file");
  if ((await signableType(out)) !== contentType)
    throw refused(`${name} has another format`, `write to a new file, or replace a file of type ${contentType}`);
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
    throw unfit(
      `The certificate is valid from ${leaf.validFrom} to ${leaf.validTo}, not now`,
      "use a valid certificate",
    );
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
