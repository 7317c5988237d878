import { isAbsolute, relative, sep } from "node:path";

/** True if the path is the folder or inside it. Only the text is compared; the caller resolves links. */
export function isWithin(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
