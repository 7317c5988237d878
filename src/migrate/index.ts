export {
  type MigrateOptions,
  type Migration,
  migrateV2,
  migrateV2File,
  migrationFiles,
  writeMigration,
} from "./migrate.ts";
export { estimateMigration, sampleInput } from "./proof/estimate.ts";
export { verifyMigration } from "./proof/verify.ts";
export {
  DecisionsFileError,
  formatDecisions,
  type MigrationDecisions,
  parseDecisions,
  V2FileError,
} from "./read/read-file.ts";
export { type Decision, type FieldEntry, lossesOf, type MigrationReport } from "./report/report.ts";
export { ShiftSoundError, type ShiftSoundOptions, shiftSound } from "./shift-sound.ts";
