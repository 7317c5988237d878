/** The same object, with some members of its own; the others are the object's, also those that it lacks. */
export function overriding<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(inner, name) {
      const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : inner, name);
      return typeof value === "function" ? value.bind(inner) : value;
    },
  });
}
