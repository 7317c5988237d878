import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LocalWork } from "../../../src/core/engine/slice/run-slices.ts";
import type { Engine, EngineHandlers } from "../../../src/fleet/worker/index.ts";

/** Opens two processes of an engine; for an engine with only one process, the same process twice. */
type Open = () => Promise<readonly [Engine, Engine]>;

interface ContractOptions {
  /** Settles once the engine has assigned this many slices or functions to a process, if it assigns them before there is capacity. */
  readonly handed?: (what: "runs" | "local", count: number) => Promise<void>;
}

const LONG = 120_000;

export function localWork(runId: string, of = "1.0"): LocalWork {
  return { runId, command: { type: "task", step: "cut", input: { by: 2 } }, of };
}

/** Tests that every engine must pass. */
export function engineContract(name: string, open: Open, { handed = async () => {} }: ContractOptions = {}): void {
  describe(`The engine ${name}`, { timeout: LONG }, () => {
    let engines: readonly [Engine, Engine];
    beforeEach(async () => {
      engines = await open();
    }, LONG);
    afterEach(async () => {
      for (const engine of new Set(engines)) await engine.close({ drainMs: 1_000 });
    }, LONG);

    /** Handlers that record their calls and return configurable results. */
    function noting(more: Partial<EngineHandlers> = {}) {
      const slices: string[] = [];
      const works: LocalWork[] = [];
      const handlers: EngineHandlers = {
        slice: async (runId, signal) => {
          slices.push(runId);
          return more.slice === undefined ? null : more.slice(runId, signal);
        },
        local: async (work, signal) => {
          works.push(work);
          await more.local?.(work, signal);
        },
      };
      return { slices, works, handlers };
    }

    const processAll = async (handlers: EngineHandlers, how = { slices: 4, local: 2 }) => {
      for (const engine of new Set(engines)) await engine.process(handlers, how);
    };
    const until = (holds: () => boolean) => expect.poll(holds, { timeout: LONG, interval: 20 }).toBe(true);

    test("gives a woken run a slice, and wakes that come before it coalesce", async () => {
      const { slices, handlers } = noting();
      for (let times = 0; times < 10; times++) await engines[times % 2]!.wake("a");
      await engines[0].wake("b");
      await processAll(handlers);
      await until(() => slices.includes("a") && slices.includes("b"));
      await engines[0].wake("c");
      await until(() => slices.includes("c"));
      expect(slices.toSorted()).toEqual(["a", "b", "c"]);
    });

    test("wakes a run at an instant and not before, and sooner when somebody asks for it", async () => {
      const seen = new Map<string, number>();
      const { handlers } = noting({
        slice: async (runId) => {
          seen.set(runId, Date.now());
          return null;
        },
      });
      const at = Date.now() + 3_000;
      await engines[0].wake("timed", { at });
      await engines[0].wake("hastened", { at: Date.now() + 3_600_000 });
      await processAll(handlers);
      await engines[1].wake("hastened");
      await until(() => seen.size === 2);
      expect(seen.get("timed")).toBeGreaterThanOrEqual(at);
    });

    test("gives another slice at the instant that the one before answers", async () => {
      const answers = [Date.now() + 500, Date.now(), null];
      const { slices, handlers } = noting({ slice: async () => answers.shift() ?? null });
      await processAll(handlers);
      await engines[0].wake("a");
      await until(() => slices.length === 3);
    });

    test("gives a run one slice at a time, and another one after a wake that came during it", async () => {
      let active = 0;
      let most = 0;
      let release: () => void = () => {};
      const { slices, handlers } = noting({
        slice: async () => {
          most = Math.max(most, ++active);
          if (slices.length === 1) {
            await new Promise<void>((resolve) => {
              release = resolve;
            });
          }
          active--;
          return null;
        },
      });
      await processAll(handlers);
      await engines[0].wake("a");
      await until(() => slices.length === 1);
      for (let times = 0; times < 5; times++) await engines[times % 2]!.wake("a");
      await engines[1].wake("other");
      await until(() => slices.includes("other"));
      expect(slices.filter((runId) => runId === "a")).toHaveLength(1);
      release();
      await until(() => slices.filter((runId) => runId === "a").length === 2);
      expect(most).toBeLessThanOrEqual(2);
    });

    test("calls a handler again that rejected, of slices and of local work", async () => {
      const failing = new Set(["slice", "local"]);
      const once = async (what: string) => {
        if (failing.delete(what)) throw new Error("not now");
      };
      const { slices, works, handlers } = noting({
        slice: async () => {
          await once("slice");
          return null;
        },
        local: () => once("local"),
      });
      await processAll(handlers);
      await engines[0].wake("a");
      await engines[0].delegate(localWork("a"));
      await until(() => slices.length === 2 && works.length === 2);
    });

    test("performs local work as it was given, once while it waits", async () => {
      const { works, handlers } = noting();
      await engines[0].delegate(localWork("a"));
      await engines[1].delegate(localWork("a"));
      await engines[1].delegate(localWork("a", "2.0"));
      await processAll(handlers);
      await until(() => works.length >= 2);
      expect(works.toSorted((a, b) => (a.of < b.of ? -1 : 1))).toEqual([localWork("a"), localWork("a", "2.0")]);
    });

    test("gives the functions of a run their turns between those of others, however many it has", async () => {
      let release: () => void = () => {};
      const { works, handlers } = noting({
        local: ({ place }) => (place === 0 ? Promise.resolve() : new Promise((resolve) => (release = resolve))),
      });
      const add = (runId: string, place: number) => engines[0].delegate({ ...localWork(runId, `${place}`), place });
      await engines[0].process(handlers, { slices: 1, local: 1 });
      await add("first", 1);
      await until(() => works.length === 1);
      for (const place of [1, 2]) await add("large", place);
      await add("small", 0);
      await handed("local", 4);
      release();
      await until(() => works.length === 3);
      release();
      await until(() => works.length === 4);
      release();
      const order = works.map(({ runId, of }) => `${runId} ${of}`);
      expect(order).toEqual(["first 1", "small 0", "large 1", "large 2"]);
    });

    test("lets local work last while slices of the same run go on", async () => {
      let release: () => void = () => {};
      const { slices, works, handlers } = noting({
        local: () =>
          new Promise<void>((resolve) => {
            release = resolve;
          }),
      });
      await processAll(handlers);
      await engines[0].delegate(localWork("a"));
      await until(() => works.length === 1);
      await engines[0].wake("a");
      await until(() => slices.length === 1);
      release();
    });

    test("takes the wake with the higher priority first", async () => {
      let release: () => void = () => {};
      const { slices, handlers } = noting({
        slice: async (runId) => {
          if (runId !== "first") return null;
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          return null;
        },
      });
      await engines[0].process(handlers, { slices: 1, local: 1 });
      await engines[0].wake("first");
      await until(() => slices.length === 1);
      const priorities = { low: 0, high: 9, middle: 5 };
      for (const [runId, priority] of Object.entries(priorities)) await engines[0].wake(runId, { priority });
      await handed("runs", 4);
      release();
      await until(() => slices.length === 4);
      expect(slices).toEqual(["first", "high", "middle", "low"]);
    });

    test("sees through what is under way when it closes, tells it so, and begins nothing more", async () => {
      let ended = 0;
      const { slices, handlers } = noting({
        slice: (_runId, signal) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              ended++;
              resolve(null);
            });
          }),
      });
      await processAll(handlers);
      await engines[0].wake("a");
      await until(() => slices.length === 1);
      await Promise.all([...new Set(engines)].map((engine) => engine.close()));
      expect(ended).toBe(1);
      expect(slices).toEqual(["a"]);
    });
  });
}
