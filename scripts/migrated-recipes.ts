/**
 * Writes recipes/migrated from the v2 documents in its folders, priced and verified on a local service. A test checks
 * that the files are up to date.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { models } from "../recipes/models.ts";
import { loadPipeline } from "../src/cli/load/pipeline-file.ts";
import { catalogOf, pullCatalog } from "../src/core/catalog/index.ts";
import {
  type Catalog,
  createClient,
  createMemoryJournal,
  openShowrunner,
  type Pipeline,
  type Showrunner,
} from "../src/index.ts";
import { startLocalService } from "../src/local-service/index.ts";
import {
  estimateMigration,
  type Migration,
  type MigrationDecisions,
  migrateV2File,
  migrationFiles,
  parseDecisions,
  sampleInput,
  verifyMigration,
} from "../src/migrate/index.ts";

export const folder = join(import.meta.dirname, "..", "recipes", "migrated");

export interface MigratedRecipe {
  readonly name: string;
  readonly migration: Migration;
  /** The contents of the files to write, by path. */
  readonly files: { readonly [path: string]: string };
}

/** A voice of the local service, for inputs that need one. */
const VOICE = "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01";

/** Migrates, prices and runs each document. `load` returns the pipeline that the generated source exports. */
export async function migratedRecipes(
  load: (file: string, source: string) => Promise<Pipeline>,
): Promise<readonly MigratedRecipe[]> {
  const scratch = await mkdtemp(join(tmpdir(), "migrated-recipes-"));
  const service = await startLocalService({ renderer: "stub", balance: 1000 });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const show = await openShowrunner({ client, journal: createMemoryJournal(), mediaDir: join(scratch, "media") });
  try {
    // Only offers the models in recipes/models.ts, which the migrated pipelines import.
    const known = new Set(Object.values(models).map(({ id }) => id as string));
    const catalog = catalogOf((await pullCatalog(client, null)).models().filter(({ id }) => known.has(id)));
    const names = readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));
    const recipes: MigratedRecipe[] = [];
    for (const name of names.sort()) recipes.push(await recipe(name, { catalog, show, scratch, load }));
    return recipes;
  } finally {
    await show.close();
    await client.close();
    await service.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

interface Tools {
  readonly catalog: Catalog;
  readonly show: Showrunner;
  readonly scratch: string;
  readonly load: (file: string, source: string) => Promise<Pipeline>;
}

async function recipe(name: string, { catalog, show, scratch, load }: Tools): Promise<MigratedRecipe> {
  const home = join(folder, name);
  const document = readdirSync(home).find((file) => /^v2\.jsonl?$/.test(file)) ?? "v2.json";
  const options = { catalog, name, ...decisionsOf(home), modelsModule: "../../models.ts" };
  const migrated = await migrateV2File(join(home, document), options);
  const input = await sampleInput(migrated.report.inputs, { folder: scratch, voice: VOICE });
  const pipeline = await load(join(home, "pipeline.ts"), migrated.source ?? "");
  const priced = await estimateMigration(migrated, show, { pipeline, service: "the local service", input });
  const verification = { pipeline, input, outDir: join(scratch, name), id: name };
  const migration = await verifyMigration(priced, show, verification);
  const { "models.ts": _models, ...files } = migrationFiles(migration, catalog);
  return {
    name,
    migration,
    files: Object.fromEntries(Object.entries(files).map(([file, text]) => [join(home, file), text])),
  };
}

/** Returns the decisions about a document, which are stored in the same folder. */
function decisionsOf(home: string): Partial<MigrationDecisions> {
  const file = join(home, "migrate.decisions.json");
  return existsSync(file) ? parseDecisions(readFileSync(file, "utf8"), file) : {};
}

if (import.meta.main) {
  const load = async (file: string, source: string) => {
    writeFileSync(file, source);
    return (await loadPipeline(file, folder)).pipeline;
  };
  for (const { files } of await migratedRecipes(load)) {
    for (const [path, text] of Object.entries(files)) writeFileSync(path, text);
  }
  console.log(`wrote ${folder}`);
}
