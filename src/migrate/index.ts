export {
  DecisionsFileError,
  formatDecisions,
  type MigrateOptions,
  type Migration,
  type MigrationDecisions,
  migrateV2,
  migrateV2File,
  migrationFiles,
  parseDecisions,
  writeMigration,
} from "./migrate.ts";
export { estimateMigration } from "./proof/estimate.ts";
export { sampleInput } from "./proof/samples.ts";
export { verifyMigration } from "./proof/verify.ts";
export { V2FileError } from "./read/read-file.ts";
export { type Decision, type FieldEntry, lossesOf, type MigrationReport } from "./report/report.ts";
export { ShiftSoundError, type ShiftSoundOptions, shiftSound } from "./shift-sound.ts";
