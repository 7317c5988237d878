// For our own folders only: undocumented, and free to change with any version.

export type { ReconcileReport } from "./core/engine/adoption/reconcile.ts";
export type { AdoptionCandidate, UnresolvedStep } from "./core/engine/adoption/unresolved.ts";
export { type BulkProblem, type BulkQuote, type BulkRow, checkEach } from "./core/engine/bulk/quote-each.ts";
export type { RowOutcome } from "./core/engine/bulk/run-each.ts";
export type { RerunScope } from "./core/engine/change/drift.ts";
export type { RunUpdate } from "./core/engine/drive/updates.ts";
export { openMediaStore } from "./core/engine/media/folder-store.ts";
export { discardUnnamed } from "./core/engine/media/gc.ts";
export { measureMedia } from "./core/engine/media/measure-media.ts";
export { readingFor } from "./core/engine/media/media-reader.ts";
export type { MediaStore } from "./core/engine/media/media-store.ts";
export { checkMedia, type MediaOptions, openMedia } from "./core/engine/media/open-media.ts";
export { openNotifications } from "./core/engine/notify/notifications.ts";
export type { QuoteOptions, WaitingDecision } from "./core/engine/options/options.ts";
export { claimOf, fileHash, readManifest } from "./core/engine/provenance/provenance.ts";
export { rehearsal } from "./core/engine/service/rehearsal.ts";
export { isOfService } from "./core/engine/service/service-answers.ts";
export type { LocalWork, Slice, SliceOptions } from "./core/engine/slice/run-slices.ts";
export type { Comment } from "./core/journal/events/facts.ts";
export { decidedText } from "./core/journal/events/step.ts";
export { eventText, liveText } from "./core/journal/events.ts";
export { statusNow } from "./core/journal/liveness.ts";
export { describeDatabase } from "./core/journal/open.ts";
export type { ReviewLinkRow, ReviewScope } from "./core/journal/review-links.ts";
export { EVENTS_READ_AT_ONCE, loadRun } from "./core/journal/snapshot.ts";
export { openSqliteJournal } from "./core/journal/sqlite.ts";
export {
  isRunFinal,
  type OutputState,
  outputsOf,
  type RerunRequest,
  type RunState,
  type StepState,
} from "./core/journal/state.ts";
export type { InboxEntry, NoticeRow, RunRow } from "./core/journal/store.ts";
export { type OpenDecision, openDecisions } from "./core/run/decisions.ts";
export { foresee } from "./core/run/inbox.ts";
export { offered } from "./core/run/kinds/approve.ts";
export { referencedValue } from "./core/run/resolve.ts";
export { unresolvedText } from "./core/run/waiting.ts";
export {
  callerDocument,
  callerEvent,
  runLine,
  type StoredOutput,
  stepProgress,
} from "./core/view/caller-document.ts";
export { type ComparedPart, comparedParts } from "./core/view/compared.ts";
export {
  type CallerDocument,
  type CallerEvent,
  type CallerOutput,
  documentSchemas,
  type QuoteDocument,
  type RunLine,
  type StepDocument,
  type StepProgress,
} from "./core/view/document-schema.ts";
export { type EditClip, type EditList, type EditTake, editLists } from "./core/view/edit-list.ts";
export { type Missing, missing, type Refused, refusedBefore } from "./core/view/missing.ts";
export {
  FoldedRun,
  RunView,
  runSummary,
  touchedSteps,
} from "./core/view/run-view.ts";
export {
  formatCents,
  invoiced,
  type MadeOfKind,
  type OpenAmount,
  type Period,
  parseMarkup,
  type RunCharges,
  runCharges,
} from "./core/view/statement.ts";
export { type AttemptView, placedFile, plannedStep, type StepPhase, type StepView } from "./core/view/step-view.ts";
export type { TimelineSpan } from "./core/view/timeline.ts";
export * from "./index.ts";
