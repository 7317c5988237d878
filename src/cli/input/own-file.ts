import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve } from "node:path";

/**
 * Whether a path that a journal names lies below the working folder, where links lead too. A journal may be a stranger's:
 * what it names anywhere else is neither run nor written to unless somebody names it on the command line.
 */
export async function isOwnFile(path: string, cwd: string): Promise<boolean> {
  const inside = relative(await realpath(cwd), await realOf(resolve(cwd, path)));
  return inside !== ".." && !/^\.\.[\\/]/.test(inside) && !isAbsolute(inside);
}

/** Of what is not there yet: where it would be. */
async function realOf(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () =>
    above === path ? path : resolve(await realOf(above), relative(above, path)),
  );
}
