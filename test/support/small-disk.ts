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

/** A disk of this size, such as `4m`; null where none may be mounted. */
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

/** Fills it to the last byte; the answer makes room again. */
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
