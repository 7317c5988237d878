// Define.

// What every answer of the service means.
export {
  type Answer,
  answers,
  answerTable,
  type Meaning,
  meanings,
  type RequestKind,
  requestKinds,
  verdicts,
} from "./answers/index.ts";
// Talk to the service.
export { type Client, createClient } from "./api/index.ts";
// Models.
export {
  type Catalog,
  type CatalogChange,
  diffCatalogs,
  fetchCatalog,
  generateModels,
  pullCatalog,
  readSnapshot,
  withFamilies,
  writeSnapshot,
} from "./catalog/index.ts";
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
  isPipeline,
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
  type StepMethods,
  swap,
  type TakesHandle,
  type TaskContext,
  type TaskHandle,
  text,
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
// Say it.
export { formatDuration } from "./duration.ts";
export type { ReconcileReport } from "./engine/adoption/reconcile.ts";
export type { AdoptionCandidate, UnresolvedStep } from "./engine/adoption/unresolved.ts";
export { type BulkQuote, type BulkRow, quoteEach } from "./engine/bulk/quote-each.ts";
export { type BulkOptions, type RowOutcome, runEach } from "./engine/bulk/run-each.ts";
export type { Drift, RerunScope } from "./engine/change/drift.ts";
export { statusNow } from "./engine/drive/attached-run.ts";
// Run, resume, look.
export type { RunHandle, RunHandleOf, RunResult } from "./engine/drive/run-result.ts";
export type { RunUpdate } from "./engine/drive/updates.ts";
export { whileLoading } from "./engine/drive/while-loading.ts";
export { OverBudgetError, PlanProblemsError, RunDiffersError, WalletShortError } from "./engine/errors.ts";
export { fileExtension } from "./engine/media/file-extension.ts";
export { type FolderStore, openMediaStore } from "./engine/media/folder-store.ts";
export type { MediaStore } from "./engine/media/media-store.ts";
export { checkMedia, type MediaOptions, openMedia } from "./engine/media/open-media.ts";
export { type Notifications, openNotifications } from "./engine/notify/notifications.ts";
export type { OpenOptions, QuoteOptions, ResumeOptions, RunOptions } from "./engine/options/options.ts";
export type { Quote } from "./engine/price/quote.ts";
export { type Manifest, manifestSchema } from "./engine/provenance/provenance-schema.ts";
export type { StepExplanation } from "./engine/reuse/explain.ts";
export { inspectSchedules, runSchedules, type Schedule, type ScheduleState } from "./engine/schedule/run-schedules.ts";
export { openShowrunner } from "./engine/showrunner/open-showrunner.ts";
export type { Showrunner } from "./engine/showrunner/showrunner.ts";
export type { LocalWork, Slice, SliceOptions } from "./engine/slice/slice-options.ts";
// What can go wrong.
export { isShowrunnerError, ShowrunnerError } from "./errors.ts";
// What is known of models beyond their schemas.
export { FamiliesError, type FamiliesOption, type Family, type FamilyInput, readFamilies } from "./families/index.ts";
export type { RunEvent, StoredEvent } from "./journal/events.ts";
// Follow.
export { eventText, liveText } from "./journal/events.ts";
// Keep.
export { createMemoryJournal } from "./journal/memory.ts";
export type { NoticeRow } from "./journal/notices.ts";
export { describeDatabase, openJournal } from "./journal/open.ts";
// Look closer: what report and dashboard are made of.
export { loadRun } from "./journal/snapshot.ts";
export { openSqliteJournal } from "./journal/sqlite.ts";
export { type OutputState, outputsOf, type RerunRequest, type RunState, type StepState } from "./journal/state.ts";
export type { JournalStore, RunRow } from "./journal/store.ts";
export { formatUsd, parseUsd } from "./money.ts";
// Plan and price.
export {
  criticalPath,
  type DiagramOptions,
  diffPlans,
  type FieldChange,
  forecast,
  makespan,
  type PlanDiff,
  planMermaid,
  planSvg,
  traitsOf,
} from "./plan/index.ts";
export type { Json, Plan, PlanStep, Problem, Reference } from "./plan/plan.ts";
export { suggest } from "./plan/suggest.ts";
export { nextCommand } from "./run/next-command.ts";
export { INTERRUPTED, type RunReport, type StepReport } from "./run/view/report.ts";
export { FoldedRun, type Incident, type Rest } from "./run/view/run-history.ts";
export { RunView, touchedSteps } from "./run/view/run-view.ts";
export {
  type AttemptView,
  outputStatus,
  placedFile,
  plannedStep,
  type StepPhase,
  type StepView,
} from "./run/view/step-view.ts";
export { Timeline, type TimelinePhase, type TimelineSpan } from "./run/view/timeline.ts";
