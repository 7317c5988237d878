import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

/** The most names, types included, that each door to the library may have. */
const DOORS = { "index.ts": 88, "core/view/index.ts": 40, "core/engine/index.ts": 18 };

test.each(Object.entries(DOORS))("%s exports at most %i names, types included, each written down", (path, most) => {
  const door = readFileSync(resolve(import.meta.dirname, "../../src", path), "utf8");
  const names = [...door.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => list!.match(/\w+(?=\s*(?:,|$))/g) ?? []);
  expect(names.length).toBeGreaterThan(10);
  expect(names.length).toBeLessThanOrEqual(most);
  expect(door).not.toMatch(/export \*|export (?:const|function|class|default)/);
});
