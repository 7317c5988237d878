export {
  DecisionsFileError,
  formatDecisions,
  type MigrationDecisions,
  parseDecisions,
} from "./decisions-file.ts";
export {
  type MigrateOptions,
  type Migration,
  migrateV2,
  migrateV2File,
  migrationFiles,
  writeMigration,
} from "./migrate.ts";
export { estimateMigration } from "./proof/estimate.ts";
export { sampleInput } from "./proof/samples.ts";
export { verifyMigration } from "./proof/verify.ts";
export { V2FileError } from "./read/read-file.ts";
export { type Decision, type FieldEntry, lossesOf, type MigrationReport } from "./report/report.ts";
export { ShiftSoundError, type ShiftSoundOptions, shiftSound } from "./shift-sound.ts";
