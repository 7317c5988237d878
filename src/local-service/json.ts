export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a JSON text; returns undefined if it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The unescaped names in a JSON pointer such as `/a~1b/0`. */
export function pointerNames(pointer: string): string[] {
  const names = pointer.split("/").slice(1);
  return names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value in `root` to which a reference such as `#/$defs/shot` points; undefined if there is none. */
export function resolveReference(root: unknown, reference: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  return pointerNames(decodeURIComponent(reference.slice(1))).reduce<unknown>(
    (node, name) =>
      typeof node === "object" && node !== null && Object.hasOwn(node, name)
        ? (node as Readonly<Record<string, unknown>>)[name]
        : undefined,
    root,
  );
}
