import { Database, loadDriver } from "./database.ts";
import { readSettings } from "./settings.ts";

export interface DatabaseFacts {
  readonly version: string;
  readonly isPooled: boolean;
  /** The shortest of five round trips, in milliseconds. */
  readonly roundTripMs: number;
}

export async function describe(location: string): Promise<DatabaseFacts> {
  const settings = readSettings(location, { poolSize: 1 });
  const db = new Database(await loadDriver(settings.place), settings);
  try {
    const [row] = await db.query("SELECT current_setting('server_version') AS version");
    const took: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const startedAt = performance.now();
      await db.query("SELECT 1");
      took.push(performance.now() - startedAt);
    }
    const version = db.columns.text(row!, "version").split(" ")[0]!;
    return { version, isPooled: await db.isPooled(), roundTripMs: Math.min(...took) };
  } finally {
    await db.close();
  }
}
