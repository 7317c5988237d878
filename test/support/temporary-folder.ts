import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What tests leave among the system's temporary files, those of a killed process too, goes into a folder of this run's own, which is
 * removed when it ends.
 */
export function temporaryFolder(): { readonly TMPDIR: string } {
  const folder = mkdtempSync(join(tmpdir(), "tests-"));
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
