// The read model of runs, for the folders of `src` beside `core`.

export { eventText, liveText } from "../journal/events.ts";
export { statusNow } from "../journal/host.ts";
export type { ReviewLinkRow } from "../journal/review-links.ts";
export { loadRun } from "../journal/run-repository.ts";
export { isRunFinal, type RunState } from "../journal/state.ts";
export type { InboxEntry, RunRow, RunUpdate } from "../journal/store.ts";
export type { WaitingDecision } from "../run/decisions.ts";
export { callerDocument, callerEvent, runLine, type StoredOutput, stepProgress } from "./caller-document.ts";
export type { ComparedPart } from "./compared.ts";
export {
  type CallerDocument,
  type CallerEvent,
  type CallerOutput,
  documentSchemas,
  type QuoteDocument,
  type RunLine,
  type StepProgress,
} from "./document-schema.ts";
export { type EditList, editLists } from "./edit-list.ts";
export { FoldedRun, RunView, touchedSteps } from "./run-view.ts";
export { type RunCharges, runCharges } from "./statement.ts";
export { plannedStep, type StepView } from "./step-view.ts";
export type { TimelineSpan } from "./timeline.ts";
