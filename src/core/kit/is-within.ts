import { isAbsolute, relative, sep } from "node:path";

/** Whether a path is the folder or lies in it, by their texts: links are for the caller to resolve. */
export function isWithin(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
