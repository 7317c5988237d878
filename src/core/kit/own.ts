/** Looks up a name in a record. Returns undefined for inherited names such as `constructor` and `__proto__`. */
export function own<T>(record: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
