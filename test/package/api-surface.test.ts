import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { apiSurface } from "../../scripts/api-surface.ts";

const folder = resolve(import.meta.dirname, "../../docs/api");

const surface = await apiSurface();

test("docs/api says what each entry exports now; a change of it is made by node scripts/api-surface.ts", () => {
  expect(readdirSync(folder).toSorted()).toEqual([...surface.keys()].toSorted());
  for (const [name, text] of surface) expect(text, name).toBe(readFileSync(join(folder, name), "utf8"));
});

test("what the main entry and the client need of other packages is zod", () => {
  for (const [name, text] of surface) {
    const foreign = new Set([...text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(([, from]) => from));
    foreign.delete("zod");
    if (/^showrunner(-api|-migrate|-local)?\.d\.ts$/.test(name)) expect([name, ...foreign]).toEqual([name]);
  }
});
