import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { apiSurface, declarationsIn } from "../../scripts/api-surface.ts";

const folder = resolve(import.meta.dirname, "../../docs/internal/api");

const surface = await apiSurface();

test("docs/internal/api says what each entry exports now; a change of it is made by node scripts/api-surface.ts", () => {
  expect(declarationsIn(folder)).toEqual([...surface.keys()]);
  for (const [name, text] of surface) expect(text, name).toBe(readFileSync(join(folder, name), "utf8"));
});

test.each(["index", "core/api/index", "migrate/index", "local-service/index"])(
  "what the types of %s need of other packages is zod",
  (entry) => {
    const foreign = new Set<string>();
    const files = new Set([`${entry}.d.ts`]);
    for (const file of files) {
      for (const [, from] of surface.get(file)!.matchAll(/(?:from |import\()"([^"\n]+)"/g)) {
        if (from!.startsWith(".")) files.add(join(dirname(file), from!.replace(/\.js$/, ".d.ts")));
        else foreign.add(from!);
      }
    }
    foreign.delete("zod");
    expect([...foreign]).toEqual([]);
  },
);
