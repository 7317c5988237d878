import { isNewerVersion, ownVersion } from "../../kit/own-version.ts";
import type { Row } from "../columns.ts";
import { JournalNewerVersionError, JournalNotDatabaseError } from "../errors.ts";
import type { Database, Values } from "./database.ts";
import { functionsOf } from "./functions.ts";
import { type Migration, migrations } from "./schema.ts";

/** The version that this Showrunner reads and writes. */
export const newestVersion = migrations.length;

type Query = (sql: string, values?: Values) => Promise<Row[]>;

/**
 * Brings the schema to the newest version, in one transaction and under a lock that the whole cluster knows: of several
 * processes that open an empty database at once, one lays it out and the others find it done. Nothing is touched where the
 * schema is another program's, or newer.
 */
export async function prepareSchema(db: Database, steps: readonly Migration[] = migrations): Promise<void> {
  const newest = steps.length;
  if ((await foundVersion(db, (sql, values) => db.query(sql, values), newest)) === newest) return;
  await db.transaction(async (query) => {
    await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`showrunner journal ${db.settings.schema}`]);
    const from = await foundVersion(db, query, newest);
    if (from === newest) return;
    if (from === 0) await createSchema(db, query);
    for (const [index, { sql }] of steps.entries()) {
      if (index < from) continue;
      const version = index + 1;
      await query(sql);
      await query("INSERT INTO {s}.journal_versions (version, program) VALUES ($1, $2)", [version, ownVersion()]);
    }
    // Those of an older version may take or answer something else.
    await query(dropFunctions);
    for (const sql of functionsOf(newest)) await query(sql);
  });
}

const dropFunctions = `DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = '{s}'::regnamespace LOOP
    EXECUTE 'DROP FUNCTION ' || f;
  END LOOP;
END $$`;

async function createSchema(db: Database, query: Query): Promise<void> {
  const [{ exists = false } = {}] = await query("SELECT to_regnamespace($1) IS NOT NULL AS exists", [
    db.settings.schema,
  ]);
  if (exists !== true) await query("CREATE SCHEMA {s}");
  // Every later version keeps this table: an older Showrunner reads from it which one can read the journal.
  await query("CREATE TABLE {s}.journal_versions (version integer PRIMARY KEY, program text NOT NULL)");
}

/** 0 for a schema that is not there, or empty. */
async function foundVersion(db: Database, query: Query, newest: number): Promise<number> {
  const [found] = await query(
    "SELECT to_regclass($1) IS NOT NULL AS ours, EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace($2)) AS used",
    ["{s}.journal_versions".replace("{s}", db.settings.schema), db.settings.schema],
  );
  if (found?.ours !== true) {
    if (found?.used === true) throw notOurs(db);
    return 0;
  }
  const [row] = await query("SELECT version, program FROM {s}.journal_versions ORDER BY version DESC LIMIT 1");
  if (row === undefined) throw notOurs(db);
  const version = db.columns.integer(row, "version");
  if (version > newest) throw newer(db, version, newest, db.columns.text(row, "program").slice(0, 40));
  return version;
}

function notOurs({ place, settings }: Database): JournalNotDatabaseError {
  return new JournalNotDatabaseError(
    place,
    `The schema ${settings.schema} in ${place} holds tables of another program, so it is no Showrunner journal; it was left untouched. Name another one: ?schema=NAME at the end of the URL.`,
  );
}

function newer(
  { place, settings }: Database,
  version: number,
  newest: number,
  program: string,
): JournalNewerVersionError {
  const own = ownVersion();
  const what = isNewerVersion(program, own) ? `use Showrunner ${program} or a later one` : "update Showrunner";
  return new JournalNewerVersionError(
    place,
    `The journal ${place} (schema ${settings.schema}) has version ${version}, which Showrunner ${program} gave it; this Showrunner (${own}) reads versions up to ${newest}. It was left untouched: ${what}, or name another schema (?schema=NAME).`,
  );
}
