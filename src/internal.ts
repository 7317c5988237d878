// For our own folders only: undocumented, and free to change with any version.

export type { CatalogChange } from "./catalog/index.ts";
export {
  diffCatalogs,
  generateModels,
  pullCatalog,
  readSnapshot,
  withFamilies,
  writeSnapshot,
} from "./catalog/index.ts";
export { isPipeline } from "./define/index.ts";
export { formatDuration } from "./duration.ts";
export type { ReconcileReport } from "./engine/adoption/reconcile.ts";
export type { AdoptionCandidate, UnresolvedStep } from "./engine/adoption/unresolved.ts";
export { type BulkProblem, type BulkQuote, type BulkRow, checkEach } from "./engine/bulk/quote-each.ts";
export type { RowOutcome } from "./engine/bulk/run-each.ts";
export { changeableValue } from "./engine/change/changed-value.ts";
export type { RerunScope } from "./engine/change/drift.ts";
export { statusNow } from "./engine/drive/attached-run.ts";
export type { RunUpdate } from "./engine/drive/updates.ts";
export { whileLoading } from "./engine/drive/while-loading.ts";
export { InvalidOptionError } from "./engine/errors.ts";
export { fileExtension } from "./engine/media/file-extension.ts";
export { openMediaStore } from "./engine/media/folder-store.ts";
export { discardUnnamed } from "./engine/media/gc.ts";
export { measureMedia } from "./engine/media/measure-media.ts";
export { readingFor } from "./engine/media/media-reader.ts";
export type { MediaStore } from "./engine/media/media-store.ts";
export { checkMedia, type MediaOptions, openMedia } from "./engine/media/open-media.ts";
export { openNotifications } from "./engine/notify/notifications.ts";
export type { WaitingDecision } from "./engine/options/decision.ts";
export { isRunId, type QuoteOptions } from "./engine/options/options.ts";
export { checkTags } from "./engine/options/tags.ts";
export { openSteps, priceText } from "./engine/price/totals.ts";
export { claimOf } from "./engine/provenance/claim.ts";
export { fileHash, readManifest } from "./engine/provenance/read-manifest.ts";
export type { StepExplanation } from "./engine/reuse/explain.ts";
export { inspectSchedules, type ScheduleState } from "./engine/schedule/run-schedules.ts";
export { rehearsal } from "./engine/service/rehearsal.ts";
export { isOfService } from "./engine/service/service-answers.ts";
export type { LocalWork, Slice, SliceOptions } from "./engine/slice/slice-options.ts";
export type { FamiliesOption } from "./families/index.ts";
export * from "./index.ts";
export type { Comment } from "./journal/events/facts.ts";
export { decidedText } from "./journal/events/step.ts";
export { eventText, liveText } from "./journal/events.ts";
export type { NoticeRow } from "./journal/notices.ts";
export { describeDatabase } from "./journal/open.ts";
export type { ReviewLinkRow, ReviewScope } from "./journal/review-links.ts";
export { EVENTS_READ_AT_ONCE, loadRun } from "./journal/snapshot.ts";
export { openSqliteJournal } from "./journal/sqlite.ts";
export {
  isRunFinal,
  type OutputState,
  outputsOf,
  planStep,
  type RerunRequest,
  type RunState,
  type StepState,
} from "./journal/state.ts";
export type { InboxEntry, RunRow } from "./journal/store.ts";
export { listedTags } from "./journal/tags.ts";
export { lateText } from "./late-text.ts";
export { formatUsd, parseUsd } from "./money.ts";
export {
  canonicalJson,
  type DiagramOptions,
  diffPlans,
  expectedSpanMs,
  type FieldChange,
  isReference,
  type PlanDiff,
  planMermaid,
  referencesOf,
  traitsOf,
} from "./plan/index.ts";
export { FOR_CALLERS, type Json, type Reference } from "./plan/plan.ts";
export { suggest } from "./plan/suggest.ts";
export { type OpenDecision, openDecisions } from "./run/decisions.ts";
export { foresee } from "./run/inbox.ts";
export { offered } from "./run/kinds/approve.ts";
export { referenced, referencedValue } from "./run/resolve.ts";
export { failureOf } from "./run/step-failure.ts";
export { unresolvedText } from "./run/unresolved-text.ts";
export { type ComparedPart, comparedParts } from "./run/view/compared.ts";
export { type EditClip, type EditList, type EditTake, editLists } from "./run/view/edit-list.ts";
export { formatCents, invoiced, parseMarkup } from "./run/view/invoice.ts";
export { type Missing, missing } from "./run/view/missing.ts";
export { type ModelScore, type ScoredPart, scoredParts, scoreModels } from "./run/view/model-scores.ts";
export { type Refused, refusedBefore } from "./run/view/refused.ts";
export type { StepReport } from "./run/view/report.ts";
export { FoldedRun, type Incident } from "./run/view/run-history.ts";
export { type RunSummary, runSummary } from "./run/view/run-summary.ts";
export { RunView, touchedSteps } from "./run/view/run-view.ts";
export { type MadeOfKind, type OpenAmount, type Period, type RunCharges, runCharges } from "./run/view/statement.ts";
export { type AttemptView, placedFile, plannedStep, type StepPhase, type StepView } from "./run/view/step-view.ts";
export type { TimelineSpan } from "./run/view/timeline.ts";
