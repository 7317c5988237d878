// The public API. Exports for the other folders of `src` are in `core/view` and `core/engine`.

export { answerTable } from "./core/answers.ts";
export { type Client, createClient } from "./core/api/index.ts";
export { type Catalog, fetchCatalog } from "./core/catalog/index.ts";
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
} from "./core/define/index.ts";
export { quoteEach } from "./core/engine/bulk/quote-each.ts";
export { runEach } from "./core/engine/bulk/run-each.ts";
export type { Drift } from "./core/engine/change/drift.ts";
export type { RunHandle, RunHandleOf, RunResult } from "./core/engine/drive/run-result.ts";
export {
  OverBudgetError,
  PlanProblemsError,
  QuoteRefusedError,
  RunDiffersError,
  WalletShortError,
} from "./core/engine/errors.ts";
export type { OpenOptions, ResumeOptions, RunOptions } from "./core/engine/options/options.ts";
export type { Quote } from "./core/engine/price/quote.ts";
export { type Manifest, manifestSchema } from "./core/engine/provenance/provenance-schema.ts";
export { openShowrunner } from "./core/engine/showrunner/embedded.ts";
export type { Showrunner } from "./core/engine/showrunner/showrunner.ts";
export { type Family, type FamilyInput, readFamilies } from "./core/families/index.ts";
export type { RunEvent, StoredEvent } from "./core/journal/events.ts";
export { createMemoryJournal, openJournal } from "./core/journal/open.ts";
export type { JournalStore } from "./core/journal/store.ts";
export { CallerError, isShowrunnerError, ShowrunnerError } from "./core/kit/errors.ts";
export type { Json, Plan, PlanStep, Problem } from "./core/plan/plan.ts";
export type { RunDocument } from "./core/view/document-schema.ts";
