import type { DatabaseSync } from "node:sqlite";
import type { FileRow, VoiceRow } from "./rows.ts";
import { command, insertSql, query } from "./statement.ts";

const FILE_COLUMNS = [
  "fileId",
  "workspaceId",
  "ownerId",
  "url",
  "path",
  "kind",
  "contentType",
  "width",
  "height",
  "durationMs",
  "sizeBytes",
  "createdAt",
  "expiresAt",
] as const satisfies readonly (keyof FileRow)[];

/** Uploaded files, until some time after their handles expired. */
export function fileTable(database: DatabaseSync) {
  const insert = command(database, insertSql("files", FILE_COLUMNS));
  const get = query<FileRow>(database, "SELECT * FROM files WHERE fileId = ?");
  const expired = query<FileRow>(database, "SELECT * FROM files WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?");
  const remove = command(database, "DELETE FROM files WHERE fileId = ?");
  return {
    insert: (row: FileRow) => insert(...FILE_COLUMNS.map((column) => row[column])),
    get: (fileId: string) => get.get(fileId),
    expiredBy: (instant: number, limit: number) => expired.all(instant, limit),
    remove: (fileId: string) => remove(fileId),
  };
}

/** Voices that clone jobs made. They do not expire. */
export function voiceTable(database: DatabaseSync) {
  const insert = command(
    database,
    insertSql("voices", ["voiceId", "workspaceId", "ownerId", "jobSeq", "name", "profile", "createdAt"]),
  );
  const get = query<VoiceRow>(database, "SELECT * FROM voices WHERE voiceId = ?");
  const ofOwner = query<VoiceRow>(
    database,
    "SELECT * FROM voices WHERE workspaceId = ? AND ownerId = ? ORDER BY createdAt, voiceId",
  );
  return {
    insert: (row: VoiceRow) =>
      insert(row.voiceId, row.workspaceId, row.ownerId, row.jobSeq, row.name, row.profile, row.createdAt),
    get: (voiceId: string) => get.get(voiceId),
    ofOwner: (workspaceId: string, ownerId: string) => ofOwner.all(workspaceId, ownerId),
  };
}
