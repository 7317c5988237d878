import type { JournalStore } from "../../src/index.ts";

/** A process that can die: from the chosen boundary on, nothing it asked for ever answers. */
export class CrashInjector {
  count = 0;
  readonly points: string[] = [];
  readonly #dieAt: number;
  readonly died: Promise<void>;
  #die: () => void = () => {};

  constructor(dieAt: number) {
    this.#dieAt = dieAt;
    this.died = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  readonly boundary = async (point: string): Promise<void> => {
    this.points.push(point);
    if (++this.count < this.#dieAt) return;
    this.#die();
    await new Promise<never>(() => {});
  };

  /** The same journal as the dead process saw it: each commit is a boundary before and after. */
  store(inner: JournalStore): JournalStore {
    const { boundary } = this;
    return new Proxy(inner, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
        if (typeof method !== "function") return method;
        if (name === "takeLease") {
          // The holder before this one is dead: the test killed it.
          return (runId: string, holder: never, options: object) =>
            target.takeLease(runId, holder, { ...options, isDead: () => true } as never);
        }
        if (name !== "commit" && name !== "createRun") return method.bind(target);
        return async (...args: unknown[]) => {
          await boundary(`${name}: before`);
          const result = await method.apply(target, args);
          await boundary(`${name}: after`);
          return result;
        };
      },
    });
  }
}
