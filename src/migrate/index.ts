export type { StockVoice } from "./desk.ts";
export { type MigrateOptions, type Migration, migrateV2 } from "./migrate.ts";
export type {
  BodyReport,
  Decision,
  FieldEntry,
  InputReport,
  MigrationProblem,
  MigrationReport,
  Outcome,
  StepReport,
} from "./report/report.ts";
