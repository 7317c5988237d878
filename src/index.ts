// The names that programs import. What only our own folders need is in `internal.ts`.

export { answerTable } from "./answers/index.ts";
export { type Client, createClient } from "./api/index.ts";
export { type Catalog, fetchCatalog } from "./catalog/index.ts";
export {
  type AssetHandle,
  type AudioResult,
  asset,
  type Builder,
  type ExpandHandle,
  equals,
  type FilePath,
  type FileSchema,
  type FilesTaskHandle,
  type FileTaskHandle,
  failed,
  fieldsOf,
  file,
  type Handle,
  type ImageResult,
  type JobHandle,
  type LocalFile,
  type Media,
  type MediaList,
  type Model,
  model,
  not,
  type OrValue,
  type OutputHandle,
  type OutputsHandle,
  type Pipeline,
  pipeline,
  quorum,
  type ResultOf,
  type Returns,
  swap,
  type TakesHandle,
  type TaskContext,
  type TaskHandle,
  text,
  typedModels,
  type UntypedInput,
  type UntypedResult,
  type UploadHandle,
  type UploadResult,
  type Value,
  type ValueHandle,
  type ValuesHandle,
  type ValueTaskHandle,
  type VideoResult,
  type Voice,
  type VoiceResult,
  type When,
} from "./define/index.ts";
export { quoteEach } from "./engine/bulk/quote-each.ts";
export { runEach } from "./engine/bulk/run-each.ts";
export type { Drift } from "./engine/change/drift.ts";
export type { RunHandle, RunHandleOf, RunResult } from "./engine/drive/run-result.ts";
export {
  OverBudgetError,
  PlanProblemsError,
  QuoteRefusedError,
  RunDiffersError,
  WalletShortError,
} from "./engine/errors.ts";
export type { OpenOptions, ResumeOptions, RunOptions } from "./engine/options/options.ts";
export type { Quote } from "./engine/price/quote.ts";
export { type Manifest, manifestSchema } from "./engine/provenance/provenance-schema.ts";
export { runSchedules, type Schedule } from "./engine/schedule/run-schedules.ts";
export { openShowrunner } from "./engine/showrunner/open-showrunner.ts";
export type { Showrunner } from "./engine/showrunner/showrunner.ts";
export { CallerError, isShowrunnerError, ShowrunnerError } from "./errors.ts";
export { FamiliesError, type Family, type FamilyInput, readFamilies } from "./families/index.ts";
export type { RunEvent, StoredEvent } from "./journal/events.ts";
export { createMemoryJournal } from "./journal/memory.ts";
export { openJournal } from "./journal/open.ts";
export type { JournalStore } from "./journal/store.ts";
export type { Json, Plan, PlanStep, Problem } from "./plan/plan.ts";
export type { RunReport } from "./run/view/report.ts";
