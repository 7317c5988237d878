/** `input` and its keys as a dotted path with list positions in brackets: `input.images[0]`. */
export function fieldPath(root: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
    root,
  );
}
