import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { CredentialsError } from "./credentials-error.ts";

/** Algorithm of C2PA by the curve of a key. */
const CURVES: Readonly<Record<string, string>> = { prime256v1: "es256", secp384r1: "es384", secp521r1: "es512" };

/** A certificate with those that lead to its root, and its key, as PEM. */
export interface SigningPair {
  readonly certificate: string;
  readonly key: string;
}

/** A pair as the package takes it. @throws CredentialsError where it cannot sign a file now */
export function signingKey({ certificate, key }: SigningPair, now: Date) {
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
