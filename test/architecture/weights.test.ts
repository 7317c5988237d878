import { expect, test } from "vitest";
import { mostWeights, rowOf, weights } from "../../scripts/weights.ts";

test("no folder has more lines than docs/internal/architecture.md allows: make it smaller, or write a larger row and say why", () => {
  const most = new Map(mostWeights().map((row) => [row.folder, row]));
  const now = weights();
  expect([...most.keys()].toSorted()).toEqual(now.map(({ folder }) => folder).toSorted());
  const above = now.filter(({ folder, src, test }) => src > most.get(folder)!.src || test > most.get(folder)!.test);
  expect(above.map((row) => `now ${rowOf(row)}`)).toEqual([]);
});

test("a row says its folder and both numbers", () => {
  expect(rowOf({ folder: "engine", src: 20_123, test: 900 })).toBe("| `engine` | 20,123 | 900 |");
});
