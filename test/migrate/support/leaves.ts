/** The paths of all leaves of a value: scalars, empty lists and empty objects. */
export function leavesOf(value: unknown, path = ""): readonly string[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((item, index) => leavesOf(item, `${path}[${index}]`));
  }
  if (typeof value === "object" && value !== null && Object.keys(value).length > 0 && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, item]) => leavesOf(item, `${path}${segment(key, path === "")}`));
  }
  return [path];
}

function segment(key: string, isFirst: boolean): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return `[${JSON.stringify(key)}]`;
  return isFirst ? key : `.${key}`;
}

/** Number of fields that are equal to the leaf's path or contain it. */
export function coverage(leaf: string, fields: readonly string[]): number {
  return fields.filter((field) => leaf === field || leaf.startsWith(`${field}.`) || leaf.startsWith(`${field}[`))
    .length;
}
