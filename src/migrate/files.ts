import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Catalog, generateModels } from "../catalog/index.ts";
import { writeDurably } from "../durable-file.ts";
import { type MigrateOptions, type Migration, migrateBodies } from "./migrate.ts";
import { readV2File } from "./read/read-file.ts";
import { reportMarkdown } from "./report/markdown.ts";

/** {@link migrateV2} of a file; the pipeline is named after it. Throws `V2FileError` when it cannot be read. */
export async function migrateV2File(path: string, options: MigrateOptions): Promise<Migration> {
  const read = await readV2File(path);
  return migrateBodies(read, { name: basename(path).replace(/\.[^.]*$/, ""), ...options });
}

/** What a migration is written as: file names and their texts. The same migration gives the same bytes. */
export function migrationFiles(migration: Migration, catalog: Catalog): { readonly [name: string]: string } {
  const { source, report } = migration;
  return {
    ...(source !== null && { "pipeline.ts": source, "models.ts": generateModels(catalog) }),
    "report.json": `${JSON.stringify(report, null, 2)}\n`,
    "report.md": reportMarkdown(report),
  };
}

/** Writes {@link migrationFiles} into a folder, made when absent. Returns the paths. */
export async function writeMigration(
  folder: string,
  migration: Migration,
  catalog: Catalog,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const files = Object.entries(migrationFiles(migration, catalog));
  await Promise.all(files.map(([name, text]) => writeDurably(join(folder, name), text)));
  return files.map(([name]) => join(folder, name));
}
