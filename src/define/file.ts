import { z } from "zod";
import type { MediaKind } from "./media.ts";

/** A local file that a pipeline takes as input. */
export interface FileInput<K extends MediaKind = MediaKind> {
  readonly path: string;
  readonly kind: K;
}

/**
 * A pipeline input that is a local media file: given as a path, or as `{ path }`. Relative paths start at the working
 * directory. A default is set with `.prefault("path")`.
 */
export function file<K extends MediaKind>(kind: K) {
  const path = z.string().min(1, `give the path of the ${kind} file`);
  return z
    .union([path, z.object({ path })], { error: `give the path of the ${kind} file` })
    .transform((given): FileInput<K> => ({ path: typeof given === "string" ? given : given.path, kind }));
}
