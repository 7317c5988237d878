import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { generateModels } from "../../src/core/catalog/index.ts";
import { type Migration, migrateV2, migrationFiles } from "../../src/migrate/index.ts";
import { V2_TYPES } from "../../src/migrate/v2-types.ts";
import { ownCatalog } from "../support/built-in-catalog.ts";
import { isFull } from "../support/sample.ts";
import { typeCheck } from "../support/type-check.ts";
import { anyDocument, bodyOf } from "./support/arbitraries.ts";
import { coverage, leavesOf } from "./support/leaves.ts";
import { evaluate, planOf } from "./support/planned.ts";
import { wideCatalog } from "./support/wide-catalog.ts";

const catalogs = { "the built-in models": ownCatalog(), "models for every type": wideCatalog() };
// A full check takes many more runs.
vi.setConfig({ testTimeout: 600_000 });
const asked = process.env.SHOWRUNNER_TEST_RUNS;
const RUNS = Number(asked ?? (isFull ? 150 : 25));
/** A full check looks at new documents every time; the usual one at the same, so that it says of a change what it did. */
const SEED = asked === undefined ? { seed: 20_261_121 } : {};

/** As a file has it: what JSON cannot hold is not there. */
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

describe.each(Object.entries(catalogs))("any valid document, with %s", (_name, catalog) => {
  const migrated = (bodies: readonly object[]) => {
    const value = asJson(bodies) as readonly { readonly [key: string]: unknown }[];
    return { value, migration: migrateV2(value, { catalog }) };
  };

  test("every field of every body stands in the report exactly once", () => {
    fc.assert(
      fc.property(anyDocument, (bodies) => {
        const {
          value,
          migration: { report },
        } = migrated(bodies);
        for (const [index, body] of value.entries()) {
          const found = report.bodies.find(({ number }) => number === index + 1);
          const fields = found?.fields.filter(({ given }) => given).map(({ field }) => field) ?? [];
          expect(new Set(fields).size).toBe(fields.length);
          for (const leaf of leavesOf(body)) expect([leaf, coverage(leaf, fields)]).toEqual([leaf, 1]);
          const leaves = leavesOf(body);
          for (const field of fields) expect(leaves.some((leaf) => coverage(leaf, [field]) === 1)).toBe(true);
        }
        for (const code of report.problems.map((problem) => problem.code)) expect(code).toBe("cyclic-ids");
        expect(report.bodies.some(({ status }) => status === "refused")).toBe(report.problems.length > 0);
      }),
      { ...SEED, numRuns: RUNS },
    );
  });

  test("what is written plans without problems", () => {
    fc.assert(
      fc.property(anyDocument, (bodies) => {
        const { migration } = migrated(bodies);
        const { report, source } = migration;
        expect(source === null).toBe(report.steps.length === 0);
        if (source === null) return;
        const planned = planOf(migration, evaluate(source, catalog), catalog);
        expect(planned.ok ? [] : planned.problems).toEqual([]);
      }),
      { ...SEED, numRuns: RUNS },
    );
  });

  test("a body is migrated, or is open and unchanged; each has as many outputs as v2 would make", () => {
    fc.assert(
      fc.property(anyDocument, (bodies) => {
        const {
          value,
          migration: { report },
        } = migrated(bodies);
        for (const body of report.bodies) {
          const given = value[body.number - 1];
          if (body.status === "open") {
            expect(body.fields.every(({ outcome, why }) => outcome === "decision" && why !== null)).toBe(true);
            expect(Object.keys(body.body ?? {})).toEqual(Object.keys(given ?? {}));
          } else if (body.status === "refused") {
            expect(body.steps).toEqual([]);
          } else {
            expect(body.outputs.length).toBe(typeof given?.batch_size === "number" ? given.batch_size : 1);
          }
        }
      }),
      { ...SEED, numRuns: RUNS },
    );
  });

  test("every decision says why and what there is to choose, and is in the list of decisions", () => {
    fc.assert(
      fc.property(anyDocument, (bodies) => {
        const {
          migration: { report },
        } = migrated(bodies);
        const listed = new Set(report.decisions.flatMap(({ where }) => where));
        for (const { at, fields, status } of report.bodies) {
          for (const { field, outcome, why, choices } of fields) {
            if (outcome === "dropped" || outcome === "decision" || outcome === "defaulted") expect(why).toBeTruthy();
            if (outcome !== "decision") continue;
            expect(choices.length).toBeGreaterThan(0);
            expect(listed.has(status === "open" ? at : `${at}: ${field}`)).toBe(true);
          }
        }
      }),
      { ...SEED, numRuns: RUNS },
    );
  });

  test("migrating twice gives the same bytes, from values and from text", () => {
    fc.assert(
      fc.property(anyDocument, (bodies) => {
        const { value, migration } = migrated(bodies);
        const files = migrationFiles(migration, catalog);
        expect(migrationFiles(migrateV2(asJson(value), { catalog }), catalog)).toEqual(files);
        const fromText = migrateV2(JSON.stringify(value), { catalog });
        expect(fromText.source).toBe(migration.source);
      }),
      { ...SEED, numRuns: Math.ceil(RUNS / 3) },
    );
  });
});

describe("written sources", () => {
  const catalog = catalogs["models for every type"];
  const documents = [
    ...V2_TYPES.flatMap((type) => fc.sample(bodyOf(type), { numRuns: 6, seed: 7 }).map((body) => [body])),
    ...fc.sample(anyDocument, { numRuns: 60, seed: 11 }),
  ];
  const sources = [catalog, catalogs["the built-in models"]].flatMap((one) =>
    documents
      .map((bodies) => migrateV2(asJson(bodies), { catalog: one }))
      .flatMap(({ source }) => (source === null ? [] : [source])),
  );

  test("are found, for every type", () => {
    const reports = documents.map((bodies) => migrateV2(asJson(bodies), { catalog }).report);
    const types = reports.flatMap(({ bodies }) =>
      bodies.filter(({ status }) => status === "migrated").map(({ type }) => type),
    );
    expect([...new Set(types)].sort()).toEqual([...V2_TYPES].sort());
    expect(sources.length).toBeGreaterThan(200);
  });

  test("compile against the models of the catalog", async () => {
    const wide = documents.map((bodies) => migrateV2(asJson(bodies), { catalog }).source ?? "export {};\n");
    const builtIn = catalogs["the built-in models"];
    const small = documents.map((bodies) =>
      sourceOf(migrateV2(asJson(bodies), { catalog: builtIn, modelsModule: "./small.ts" })),
    );
    const files = Object.fromEntries([
      ["models.ts", generateModels(catalog)],
      ["small.ts", generateModels(builtIn)],
      ...wide.map((source, index) => [`wide-${index}.ts`, source] as const),
      ...small.map((source, index) => [`small-${index}.ts`, source] as const),
    ]);
    expect(await typeCheck(files, "test/migrate/support/random-words.ts")).toBe("");
  });
});

function sourceOf({ source }: Migration): string {
  return source ?? "export {};\n";
}
