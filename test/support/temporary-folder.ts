import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 8 * 2 ** 30;

/**
 * Creates a folder for the temporary files of this run, including those of killed processes, and removes it at the end. The folder
 * is in memory if there is enough space and programs can run there, because thousands of journals would wait for a disk.
 */
export function temporaryFolder(): { readonly TMPDIR: string } {
  const folder = mkdtempSync(join(takesTests(MEMORY) ? MEMORY : tmpdir(), "tests-"));
  // Servers that run as another user reach what is theirs.
  chmodSync(folder, 0o711);
  process.once("exit", () => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      console.error(`what tests left in ${folder} was not removed: ${String(error)}`);
    }
  });
  return { TMPDIR: folder };
}

function takesTests(folder: string): boolean {
  let tried: string | null = null;
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < ENOUGH_BYTES) return false;
    tried = mkdtempSync(join(folder, "tests-"));
    writeFileSync(join(tried, "program"), "", { mode: 0o700 });
    accessSync(join(tried, "program"), constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    if (tried !== null) rmSync(tried, { recursive: true, force: true });
  }
}

/** Creates a folder that is removed at the end of the run, with all other temporary files. */
export const newFolder = (): string => mkdtempSync(join(tmpdir(), "test-"));
