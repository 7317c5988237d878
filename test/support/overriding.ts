/** Returns a proxy of an object with some members replaced. */
export function overriding<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(inner, name) {
      const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : inner, name);
      return typeof value === "function" ? value.bind(inner) : value;
    },
  });
}
