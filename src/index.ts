// Define.

// Talk to the service.
export { type Client, createClient } from "./api/index.ts";
// Models.
export {
  type Catalog,
  type CatalogModel,
  fetchCatalog,
  generateModels,
  pullCatalog,
  readSnapshot,
  writeSnapshot,
} from "./catalog/index.ts";
export {
  type AllMedia,
  type AssetHandle,
  type AudioResult,
  asset,
  type Builder,
  type FileInput,
  file,
  type Handle,
  type ImageResult,
  isPipeline,
  type JobHandle,
  type JobOptions,
  type Media,
  type MediaKind,
  type MediaList,
  type Model,
  model,
  type OutputHandle,
  type OutputsHandle,
  type PartialResultOf,
  type Pipeline,
  pipeline,
  type ResultOf,
  type Returns,
  type UploadHandle,
  type VideoResult,
  type Voice,
  type VoiceResult,
} from "./define/index.ts";
export {
  AccountMismatchError,
  InvalidOptionError,
  OverBudgetError,
  PlanProblemsError,
  RunBusyError,
} from "./engine/errors.ts";
export type { Quote, StepPrice } from "./engine/quote.ts";
// Run, resume, look.
export {
  type OpenOptions,
  openShowrunner,
  type ResumeOptions,
  type RunHandle,
  type RunOptions,
  type RunResult,
  type Showrunner,
} from "./engine/showrunner.ts";
export type { RunUpdate } from "./engine/updates.ts";
// What can go wrong.
export { isShowrunnerError, ShowrunnerError } from "./errors.ts";
// Follow.
export type { JournalError, OutputFacts, PauseReason, PriceBasis, RunEvent, StoredEvent } from "./journal/events.ts";
// Keep.
export { createMemoryJournal } from "./journal/memory.ts";
export { openSqliteJournal } from "./journal/sqlite.ts";
export type { JournalStore, RunRow } from "./journal/store.ts";
export { jobMachine, outputMachine, runMachine, stepMachine } from "./lifecycle/index.ts";
// Plan and price.
export type { JobStep, Json, Plan, PlanStep, Problem, UploadStep } from "./plan/plan.ts";
export type { RunReport, StepReport } from "./run/report.ts";
