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
  type Verdict,
  verdicts,
} from "./answers/index.ts";
// Talk to the service.
export { type Client, createClient } from "./api/index.ts";
// Models.
export {
  type Catalog,
  type CatalogChange,
  type CatalogClient,
  type CatalogModel,
  catalogOf,
  diffCatalogs,
  type FieldProblem,
  fetchCatalog,
  generateModels,
  pullCatalog,
  readSnapshot,
  SnapshotError,
  withFamilies,
  writeSnapshot,
} from "./catalog/index.ts";
export {
  type AllMedia,
  type ApproveOptions,
  type AssetHandle,
  type AudioResult,
  asset,
  type Builder,
  BuilderClosedError,
  type BytesInput,
  type Candidate,
  type ChatInput,
  type ChatOptions,
  type ChooseOptions,
  type ExpandHandle,
  type ExpandOptions,
  equals,
  type FileInput,
  type FilePath,
  type FileSchema,
  type FilesTaskHandle,
  type FileTaskHandle,
  failed,
  fieldsOf,
  file,
  type Handle,
  HandleMisuseError,
  type ImageResult,
  type IncludeOptions,
  isPipeline,
  type JobHandle,
  type JobOptions,
  type LocalFile,
  type Media,
  type MediaKind,
  type MediaList,
  type Model,
  type ModelFacts,
  model,
  not,
  type OrValue,
  type OutputHandle,
  type OutputsHandle,
  type PartialResultOf,
  type Pipeline,
  type PipelineDefinition,
  PipelineDefinitionError,
  type Profile,
  type ProfileFields,
  type ProfileStep,
  type Profiles,
  pipeline,
  quorum,
  type ResultOf,
  type Returnable,
  type Returns,
  type StepOptions,
  swap,
  type TakesHandle,
  type TakesOptions,
  type TaskContext,
  type TaskHandle,
  type TaskOptions,
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
  type Words,
} from "./define/index.ts";
// Say it.
export { formatDuration } from "./duration.ts";
export type { JobMatch } from "./engine/adoption/likeness.ts";
export type { AdoptionCandidate, UnresolvedStep } from "./engine/adoption/unresolved.ts";
export type { Comparison, StaleStep } from "./engine/compare.ts";
export type { Drift, RerunQuote, RerunScope as Remake } from "./engine/drift.ts";
export {
  AccountMismatchError,
  InvalidOptionError,
  OverBudgetError,
  PlanProblemsError,
  RunBusyError,
  RunDiffersError,
  WalletShortError,
} from "./engine/errors.ts";
export type { StepExplanation } from "./engine/explain.ts";
export { fileExtension } from "./engine/file-extension.ts";
export type { GcOptions, GcReport } from "./engine/gc.ts";
export { statusNow } from "./engine/interrupted.ts";
export { RunWhileLoadingError, whileLoading } from "./engine/load-guard.ts";
export { type MediaStore, openMediaStore } from "./engine/media-store.ts";
export { type Notifications, type NotifyOptions, openNotifications } from "./engine/notify/notifications.ts";
export type { NotifyOption } from "./engine/notify/target.ts";
export { type Manifest, manifestSchema } from "./engine/provenance-schema.ts";
export type { Quote, StepPrice } from "./engine/quote.ts";
export type { ReconcileOptions, ReconcileProgress, ReconcileReport } from "./engine/reconcile.ts";
export type { ExpiryRisk, RequestForecast } from "./engine/run-forecast.ts";
// Run, resume, look.
export type { RunHandle, RunPause, RunResult } from "./engine/run-result.ts";
export {
  type ApproveDecision,
  type CompareOptions,
  type OpenOptions,
  openShowrunner,
  type PlanOptions,
  type QuoteOptions,
  type ResumeOptions,
  type RunOptions,
  type Showrunner,
} from "./engine/showrunner.ts";
export type { SpendingTotals } from "./engine/spending.ts";
export type { RunUpdate } from "./engine/updates.ts";
// What can go wrong.
export { isShowrunnerError, ShowrunnerError } from "./errors.ts";
// What is known of models beyond their schemas.
export { FamiliesError, type FamiliesOption, type Family, type FamilyInput, readFamilies } from "./families/index.ts";
// Follow.
export { eventText, liveText } from "./journal/event-text.ts";
export type { JournalError, OutputFacts, PauseReason, PriceBasis, RunEvent, StoredEvent } from "./journal/events.ts";
// Look closer: what report and dashboard are made of.
export { FOLD_VERSION } from "./journal/fold.ts";
// Keep.
export { createMemoryJournal } from "./journal/memory.ts";
export { openSqliteJournal } from "./journal/sqlite.ts";
export { type OutputState, outputsOf, type RerunRequest, type RunState, type StepState } from "./journal/state.ts";
export type { JournalStore, NoticeRow, RunRow } from "./journal/store.ts";
export { jobMachine, outputMachine, runMachine, stepMachine } from "./lifecycle/index.ts";
export { formatUsd, parseUsd } from "./money.ts";
// Plan and price.
export {
  type CriticalPath,
  criticalPath,
  type DiagramOptions,
  diffPlans,
  type FieldChange,
  type FollowStrategy,
  type Forecast,
  type ForecastOptions,
  forecast,
  type JobLimits,
  makespan,
  type PlanDiff,
  planMermaid,
  planSvg,
  type StrategyForecast,
} from "./plan/index.ts";
export type { JobStep, Json, Plan, PlanStep, Problem, Reference, UploadStep } from "./plan/plan.ts";
export { suggest } from "./plan/suggest.ts";
export type { Incident } from "./run/incidents.ts";
export { type NextCommand, nextCommand } from "./run/next-command.ts";
export { type ExpiringReport, INTERRUPTED, type RunReport, type StepReport } from "./run/report.ts";
export { type TimelinePhase, type TimelineSpan, timelineOf } from "./run/timeline.ts";
export { type Rest, viewWithHistory } from "./run/view/run-history.ts";
export { RunView, touchedSteps } from "./run/view/run-view.ts";
export { type AttemptView, outputStatus, plannedStep, type StepPhase, type StepView } from "./run/view/step-view.ts";
