import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../../durable-file.ts";
import { InvalidOptionError } from "../errors.ts";

/** An ed25519 private key in PKCS 8 is these bytes and the 32 of its seed. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

/** The key in SHOWRUNNER_NOTIFY_KEY (base64 of its 32 bytes), else the file's, which is created at first use with mode 0600. */
export async function signingKey(file: string, env: Readonly<Record<string, string | undefined>>): Promise<KeyObject> {
  const { SHOWRUNNER_NOTIFY_KEY: given } = env;
  if (given) return ofSeed(Buffer.from(given, "base64"));
  try {
    return createPrivateKey(await readFile(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw unusable(file);
  }
  await makeKey(file);
  return createPrivateKey(await readFile(file));
}

/** Base64 of the raw 32 bytes, as `verifyWebhook` takes it. */
export function publicKeyOf(key: KeyObject): string {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/** Written whole before it has its name, so that of two processes the second finds the key of the first. */
async function makeKey(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const part = `${file}.${randomUUID()}`;
  try {
    const handle = await open(part, "wx", 0o600);
    try {
      await handle.writeFile(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(part, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    await syncFolder(dirname(file));
  } finally {
    await rm(part, { force: true });
  }
}

function ofSeed(seed: Buffer): KeyObject {
  if (seed.length === 32)
    return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: "der", type: "pkcs8" });
  throw new InvalidOptionError(
    "SHOWRUNNER_NOTIFY_KEY",
    "is no base64 of 32 bytes; make one with: openssl rand -base64 32",
  );
}

function unusable(file: string): InvalidOptionError {
  return new InvalidOptionError(
    "notify",
    `${file} holds no ed25519 key; put it back, or remove it so that a new one is created.`,
  );
}
