import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, rm } from "node:fs/promises";

const LEAST_LENGTH = 32;

/**
 * One token a journal, so that a page that is open survives a restart. A token that others of this machine may have read or
 * written is replaced by a new one, and `warn` is told why.
 */
export async function storedToken(path: string, warn: (text: string) => void): Promise<string> {
  const stored = await readKept(path);
  if (stored.token !== null) return stored.token;
  if (stored.fault !== null)
    warn(`${path} ${stored.fault}, so a new token is generated; pages that are open must be opened again.`);
  return makeToken(path);
}

interface Kept {
  readonly token: string | null;
  /** Why the file is not used; null when there is none. */
  readonly fault: string | null;
}

async function readKept(path: string): Promise<Kept> {
  try {
    // A link is not followed: whoever created it chose the token.
    await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const { uid, mode } = await file.stat();
    const me = process.getuid?.();
    if (me !== undefined && uid !== me) return { token: null, fault: "belongs to another user" };
    if (me !== undefined && (mode & 0o077) !== 0)
      return { token: null, fault: "can be read or changed by other users" };
    const token = (await file.readFile("utf8")).trim();
    return token.length >= LEAST_LENGTH ? { token, fault: null } : { token: null, fault: "holds no token" };
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === "ENOENT";
    return { token: null, fault: isAbsent ? null : "cannot be read" };
  }
}

/** Written to a temporary file and renamed, so that an existing link is not followed nor an open file reused. */
async function makeToken(path: string): Promise<string> {
  const token = randomBytes(24).toString("base64url");
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  await using file = await open(fresh, "wx", 0o600);
  await file.writeFile(`${token}\n`);
  await rename(fresh, path);
  return token;
}
