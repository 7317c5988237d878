// What the wings see of runs: the read model.

export { eventText, liveText } from "../journal/events.ts";
export { statusNow } from "../journal/liveness.ts";
export type { ReviewLinkRow } from "../journal/review-links.ts";
export { loadRun } from "../journal/snapshot.ts";
export { isRunFinal, type RunState } from "../journal/state.ts";
export type { InboxEntry, RunRow } from "../journal/store.ts";
export type { OpenDecision } from "../run/decisions.ts";
export { type EditList, editLists } from "./edit-list.ts";
export { FoldedRun, RunView, touchedSteps } from "./run-view.ts";
export { type RunCharges, runCharges } from "./statement.ts";
export { plannedStep, type StepView } from "./step-view.ts";
export type { TimelineSpan } from "./timeline.ts";
