import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Absence } from "./absence.ts";

export const noSmallDisk: Absence = {
  what: "a small disk of its own",
  cure: "run the tests as root, where a tmpfs may be mounted",
  isOptional: true,
};

/** Mounts a disk of this size, such as `4m`; null if mounting is not permitted. */
export function smallDisk(size: string): { readonly path: string; unmount(): void } | null {
  const path = mkdtempSync(join(tmpdir(), "small-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path], { stdio: "pipe" });
  } catch {
    rmSync(path, { recursive: true });
    return null;
  }
  const unmount = () => {
    execFileSync("umount", ["--lazy", path]);
    rmSync(path, { recursive: true });
  };
  return { path, unmount };
}

/** Fills a disk completely. The returned function frees the space again. */
export function fillDisk(path: string): () => void {
  const ballast = join(path, "ballast");
  for (const size of [65_536, 4_096, 512, 1]) {
    try {
      for (;;) appendFileSync(ballast, Buffer.alloc(size, 1));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
  return () => rmSync(ballast);
}
