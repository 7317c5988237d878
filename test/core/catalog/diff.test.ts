import { describe, expect, test } from "vitest";
import { type Catalog, catalogOf, diffCatalogs } from "../../../src/core/catalog/index.ts";
import type { CatalogModel, JsonSchema } from "../../../src/core/plan/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";

/** Fields that take the place of those with their name; null takes one away. */
type Change = (properties: Record<string, JsonSchema>) => Record<string, JsonSchema | null>;

const live = builtInCatalog().model("image-1")!;
const changed = (change: Change, more: Partial<CatalogModel> = {}) => {
  const inputSchema = structuredClone(live.inputSchema) as { properties: Record<string, JsonSchema> };
  for (const [name, schema] of Object.entries(change(inputSchema.properties))) {
    if (schema === null) delete inputSchema.properties[name];
    else inputSchema.properties[name] = schema;
  }
  return diffCatalogs(catalogOf([live]), catalogOf([{ ...live, inputSchema, ...more }])).map(
    ({ field, isBreaking, message }) => `${isBreaking ? "breaks" : "keeps"} ${field}: ${message}`,
  );
};

describe("what a new catalog changes", () => {
  test("is nothing when nothing changed", () => {
    expect(diffCatalogs(builtInCatalog(), builtInCatalog())).toEqual([]);
  });

  test.each<[string, Change, string[]]>([
    ["a field that is gone", () => ({ seed: null }), ["breaks seed: was removed"]],
    ["a new field", () => ({ style: { type: "string" } }), ["keeps style: is new"]],
    [
      "values that come and go",
      (p) => ({ quality: { ...p.quality, enum: ["standard", "ultra"] } }),
      ['breaks quality: no longer accepts "pro"', 'keeps quality: also accepts "ultra"'],
    ],
    [
      "another default",
      (p) => ({ quality: { ...p.quality, default: "pro" } }),
      ['breaks quality: default changed from "standard" to "pro"'],
    ],
    [
      "a narrower bound",
      (p) => ({ prompt: { ...p.prompt, maxLength: 100 } }),
      ["breaks prompt: maxLength was 4000, is 100"],
    ],
    ["a wider bound", (p) => ({ images: { ...p.images, maxItems: 8 } }), ["keeps images: maxItems was 4, is 8"]],
    ["a type", (p) => ({ seed: { ...p.seed, type: "string" } }), ["breaks seed: type changed from integer to string"]],
    [
      "fewer outputs",
      () => ({ num_outputs: { type: "integer", enum: [1, 2], default: 1 } }),
      [
        "breaks num_outputs: the maximum number of outputs changed from 4 to 2",
        "breaks num_outputs: no longer accepts 3, 4",
      ],
    ],
  ])("%s", (_what, change, expected) => {
    expect(changed(change)).toEqual(expected);
  });

  test("combinations that a table no longer has break, others do not, and numbers are no change", () => {
    const [one, two] = ["requires: prompt; must omit: images", "requires: images"];
    const table = (...rows: readonly string[]) => {
      const lines = ["Accepted field combinations:", ...rows.map((row, index) => `(${index + 1}) ${row}`)];
      return catalogOf([{ ...live, inputSchema: { ...live.inputSchema, description: lines.join("\n") } }]);
    };
    const said = (from: Catalog, to: Catalog) =>
      diffCatalogs(from, to).map(({ isBreaking, message }) => `${isBreaking ? "breaks" : "keeps"}: ${message}`);
    expect(said(table(one, two), table(two, one))).toEqual([]);
    expect(said(table(one), table(two))).toEqual([
      `breaks: no longer accepts the combination: ${one}`,
      `keeps: accepts the combination: ${two}`,
    ]);
    expect(said(catalogOf([live]), table(one))).toEqual([`breaks: accepts the combination: ${one}`]);
    expect(said(table(one), catalogOf([live]))).toEqual([`keeps: no longer accepts the combination: ${one}`]);
  });

  test("a price description, a retirement and a new model are changes of the whole model", () => {
    expect(changed(() => ({}), { priceDescription: "more" })).toEqual([
      expect.stringMatching(/^keeps null: its price changed from ".*" to "more"$/),
    ]);
    expect(changed(() => ({}), { state: "retired", replacedBy: "image-2" })).toEqual([
      "breaks null: changed from live to retired; use image-2",
    ]);
    expect(diffCatalogs(catalogOf([]), catalogOf([live]))).toMatchObject([{ isBreaking: false, message: "is new" }]);
    expect(diffCatalogs(catalogOf([live]), catalogOf([]))).toMatchObject([{ isBreaking: true }]);
  });
});
