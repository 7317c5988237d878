import type { Json } from "../../../src/core/plan/plan.ts";
import { type FieldEntry, type MigrateOptions, type Migration, migrateV2 } from "../../../src/migrate/index.ts";
import { ownCatalog } from "../../support/built-in-catalog.ts";
import { evaluate, planOf } from "./planned.ts";

export interface Migrated {
  readonly migration: Migration;
  /** Inputs of the plan's jobs by step name, with references as `<step>`. */
  readonly steps: { readonly [name: string]: Json };
  /** The entry of a field in the body with this number. Default: the first body. */
  field(path: string, number?: number): FieldEntry | undefined;
}

/** Migrates bodies and plans the written source. */
export function migrateBodies(bodies: readonly object[], options: Partial<MigrateOptions> = {}): Migrated {
  const catalog = options.catalog ?? ownCatalog();
  const migration = migrateV2(JSON.parse(JSON.stringify(bodies)), { ...options, catalog });
  const planned = migration.source === null ? null : planOf(migration, evaluate(migration.source, catalog), catalog);
  if (planned !== null && !planned.ok) throw new Error(JSON.stringify(planned.problems));
  const steps = Object.fromEntries(
    (planned?.plan.steps ?? []).map((step) => [step.path, "input" in step ? short(step.input as Json) : step.kind]),
  );
  const field = (path: string, number = 1) =>
    migration.report.bodies.find((body) => body.number === number)?.fields.find((entry) => entry.field === path);
  return { migration, steps, field };
}

function short(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => short(item));
  if (typeof value !== "object" || value === null) return value;
  const record = value as { readonly [key: string]: Json };
  const ref = record.$ref as { readonly step: string } | undefined;
  if (ref !== undefined) return `<${ref.step}>`;
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, short(item)]));
}

/** The n-th v2 id of a test. */
export function id(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}
