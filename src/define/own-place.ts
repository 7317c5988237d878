/** The folder of this library: what stands there is not what a person wrote. */
const LIBRARY = new URL("..", import.meta.url).href.replace(/^file:\/\//, "");

/**
 * Where in a person's own code an error came from, as `file:line:column`: the first place on its stack that belongs neither
 * to this library nor to Node nor to a package. Null when there is none.
 */
export function ownPlace(stack: string | undefined): string | null {
  for (const line of (stack ?? "").split("\n")) {
    const found = /^\s+at (?:.*\()?(?:file:\/\/)?(\/[^()]*|[A-Za-z]:[^()]*):(\d+):(\d+)\)?$/.exec(line);
    const [, path = "", row, column] = found ?? [];
    const file = path.replace(/\?.*$/, "");
    if (found === null || file.startsWith(LIBRARY) || file.includes("/node_modules/")) continue;
    return `${decodeURI(file)}:${row}:${column}`;
  }
  return null;
}

/** The message of whatever was thrown, with the place in a person's own code where that is known. */
export function saidAt(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = ownPlace(error.stack);
  return place === null ? error.message : `${error.message} (at ${place})`;
}
