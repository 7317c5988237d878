import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairQueue, type Turn, type Waiting } from "../../../src/core/api/pace/fair-queue.ts";

interface Named extends Waiting {
  readonly name: string;
  over: boolean;
}

/** Requests in the order of their arrival, named by run and number. */
function filled(
  ...requests: readonly (readonly [run: string, count: number, more?: Partial<Turn> & { priority?: number }])[]
) {
  const queue = new FairQueue<Named>();
  const all: Named[] = [];
  for (const [run, count, { priority = 0, ...turn } = {}] of requests) {
    for (let n = 1; n <= count; n++) {
      const own = run === "" ? {} : { turn: { share: run, run, ...turn } };
      const entry: Named = { name: `${run}${n}`, priority, order: all.length, over: false, ...own };
      all.push(entry);
      queue.push(entry);
    }
  }
  const drain = (most = Number.POSITIVE_INFINITY) => {
    const names: string[] = [];
    for (let entry = queue.head(); entry !== undefined && names.length < most; entry = queue.head()) {
      expect(queue.pop()).toBe(entry);
      names.push(entry.name);
    }
    return names;
  };
  return { queue, all, drain };
}

describe("Requests that wait for their turn", () => {
  test("go round between runs, whichever came first with however many", () => {
    const { drain, queue } = filled(["a", 1_000], ["b", 2], ["c", 2]);
    expect(queue.length).toBe(1_004);
    expect(drain(8)).toEqual(["a1", "b1", "c1", "a2", "b2", "c2", "a3", "a4"]);
    expect(queue.length).toBe(996);
  });

  test("of one run go by priority, and then as they came", () => {
    const { drain } = filled(["a", 2, { share: "x" }], ["a", 2, { share: "x", priority: 5 }]);
    expect(drain()).toEqual(["a1", "a2", "a1", "a2"]);
    const { drain: ranked } = filled(["a", 1], ["a", 1, { priority: 150 }], ["b", 1]);
    expect(ranked()).toHaveLength(3);
  });

  test("of shares go by their weights, and within a share between its runs", () => {
    const { drain } = filled(
      ["a", 9, { share: "x", weight: 2 }],
      ["b", 9, { share: "x", weight: 2 }],
      ["c", 9, { share: "y" }],
    );
    const first = drain(9);
    expect(first.filter((name) => name.startsWith("c"))).toHaveLength(3);
    expect(first.filter((name) => name.startsWith("a"))).toHaveLength(3);
  });

  test("without a turn share one, but what all runs wait for goes ahead", () => {
    const { drain } = filled(["a", 3], ["", 2], ["", 1, { priority: 200 }]);
    expect(drain()).toEqual(["1", "a1", "1", "a2", "2", "a3"]);
  });

  test("that left are not waited for, and a run gains nothing by being away", () => {
    const { queue, all, drain } = filled(["a", 4], ["b", 4]);
    expect(drain(4)).toEqual(["a1", "b1", "a2", "b2"]);
    for (const entry of all) if (entry.name.startsWith("b")) entry.over = true;
    expect(drain()).toEqual(["a3", "a4"]);
    for (let n = 0; n < 3; n++) {
      for (const run of ["a", "b"])
        queue.push({ name: `${run}${n}`, priority: 0, order: 100 + n, over: false, turn: { share: run, run } });
    }
    expect(drain().filter((_, index) => index % 2 === 0)).toHaveLength(3);
  });

  test("never wait for more than one request of each other run", () => {
    const run = fc.record({ count: fc.integer({ min: 1, max: 20 }) });
    fc.assert(
      fc.property(fc.array(run, { minLength: 2, maxLength: 6 }), (runs) => {
        const { drain } = filled(...runs.map(({ count }, index) => [String.fromCharCode(97 + index), count] as const));
        const names = drain();
        expect(names).toHaveLength(runs.reduce((sum, { count }) => sum + count, 0));
        for (const [index, { count }] of runs.entries()) {
          const last = names.indexOf(`${String.fromCharCode(97 + index)}${count}`);
          expect(last).toBeLessThan(count * runs.length);
        }
      }),
    );
  });
});
