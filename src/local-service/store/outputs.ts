import type { DatabaseSync } from "node:sqlite";
import type { OutputRow } from "./rows.ts";
import { command, insertSql, query } from "./statement.ts";

const COLUMNS = [
  "jobSeq",
  "position",
  "status",
  "assetId",
  "voiceId",
  "path",
  "contentType",
  "width",
  "height",
  "durationMs",
  "fps",
  "sizeBytes",
  "fpsShownAt",
  "error",
] as const satisfies readonly (keyof OutputRow)[];

/** Where an output's bytes are; null once they have expired, even while they are still to be removed. */
export function pathOf({ status, path }: OutputRow): string | null {
  return status === "COMPLETED" ? path : null;
}

export function outputTable(database: DatabaseSync) {
  const insert = command(database, insertSql("outputs", COLUMNS));
  const ofJob = query<OutputRow>(database, "SELECT * FROM outputs WHERE jobSeq = ? ORDER BY position");
  const byAsset = query<OutputRow>(database, "SELECT * FROM outputs WHERE assetId = ?");
  // The asset id stays in the row, so that a later use can be told "expired" from "unknown".
  const expire = command(database, "UPDATE outputs SET status = 'EXPIRED', error = NULL WHERE jobSeq = ?");
  const forgetPaths = command(database, "UPDATE outputs SET path = NULL WHERE jobSeq = ?");
  const expireMade = command(
    database,
    "UPDATE outputs SET status = 'EXPIRED', path = NULL WHERE jobSeq = ? AND status = 'COMPLETED' AND voiceId IS NULL",
  );
  return {
    insert: (row: OutputRow) => insert(...COLUMNS.map((column) => row[column])),
    ofJob: (jobSeq: number) => ofJob.all(jobSeq),
    byAsset: (assetId: string) => byAsset.get(assetId),
    /** After a delete: failed ones too. Their paths stay until `forgetPaths`, so that an unfinished delete can be repeated. */
    expireAll: (jobSeq: number) => expire(jobSeq),
    forgetPaths: (jobSeq: number) => forgetPaths(jobSeq),
    /** After the retention: what had bytes. */
    expireMade: (jobSeq: number) => expireMade(jobSeq),
  };
}
