import { mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 256 * 1024 * 1024;

/** A fresh folder in memory where the system has room for one: for tests that write much and try no disk. */
export async function fastFolder(prefix: string): Promise<string> {
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return mkdtemp(join(free >= ENOUGH_BYTES ? MEMORY : tmpdir(), prefix));
}
