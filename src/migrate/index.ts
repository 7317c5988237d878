export type { StockVoice } from "./desk.ts";
export type { PipelineInput } from "./expression.ts";
export { migrateV2File, migrationFiles, writeMigration } from "./files.ts";
export { type MigrateOptions, type Migration, migrateV2 } from "./migrate.ts";
export { type EstimateOptions, estimateMigration, type Quoter } from "./proof/estimate.ts";
export { type SampleOptions, sampleInput } from "./proof/samples.ts";
export { type Runner, type VerifyOptions, verifyMigration } from "./proof/verify.ts";
export { type Question, questionsOf } from "./questions.ts";
export { V2FileError } from "./read/read-file.ts";
export type {
  BodyReport,
  Decision,
  FieldEntry,
  InputReport,
  MigratedStep,
  MigrationProblem,
  MigrationReport,
  Outcome,
  PriceReport,
  StepPriceReport,
  VerificationReport,
} from "./report/report.ts";
export { ShiftSoundError, type ShiftSoundOptions, shiftSound } from "./shift-sound.ts";
