/** A record's own entry under a name that others say: `constructor` and `__proto__` are names like any other. */
export function own<T>(record: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
