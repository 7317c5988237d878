import { isAbsolute, relative, sep } from "node:path";

/** True if a path is the folder or inside it, judged by text alone; the caller resolves links. */
export function isWithin(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
