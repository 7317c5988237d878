import { type Build, pointAt } from "./handle-value.ts";

/**
 * Stands for results of a part that could not be said because its input is wrong: whatever is taken from it is a handle
 * that nothing is known of, so that the rest of the build goes on and its mistakes are found too.
 */
export function recoveryHandle(step: string, build: Build): unknown {
  const target = () => undefined;
  pointAt(target, { to: "step", step, output: "single", build });
  const created: unknown = new Proxy(target, {
    apply: () => created,
    get(_, key) {
      if (key === Symbol.iterator) return () => [][Symbol.iterator]();
      if (key === "step") return step;
      if (key === "yields") return "unknown";
      if (key === "form") return "single";
      return typeof key === "symbol" ? Reflect.get(target, key) : created;
    },
  });
  return created;
}
