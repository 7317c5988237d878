// The server's answers to the page. Money is in micro-dollars, times are in epoch milliseconds. Long texts from users
// are cut.
import type { keepFile } from "../../served/index.ts";
import type { VisitorView } from "../http/route.ts";
import type { GaugeReader } from "../live/gauges.ts";
import type { runPatch } from "../live/run-watch.ts";
import type { clientReport } from "../report/write-report.ts";
import type { candidateView, offeredView, planView } from "../routes/action-routes.ts";
import type { givenView, RunList, stepsPage, timelineView } from "../routes/read-routes.ts";
import type { ResumePreview } from "../routes/resume-routes.ts";
import type { WaitingDecisions } from "../runs/waiting.ts";
import type { shownValueOf, stepForm } from "./input-form.ts";
import type { runCosts } from "./run-costs.ts";
import type { runHead } from "./run-head.ts";
import type { stepDetail } from "./step-detail.ts";
import type { decisionOf, earlierOf, StepView } from "./step-view.ts";

export type { VisitorView } from "../http/route.ts";
export type { SharedPage } from "../links/link-routes.ts";
export type { ReviewLinkView } from "../links/review-link.ts";
export type { SharedDecision, SharedTake } from "../links/shared-decisions.ts";
export type { InlinedRun } from "../report/write-report.ts";
export type { AllCosts } from "../routes/cost-routes.ts";
export type { ResumePreview } from "../routes/resume-routes.ts";
export type { GroupView, StepCounts } from "./groups.ts";
export type { Control, FieldView } from "./input-form.ts";
export type { MediaView } from "./media-view.ts";
export type { RunSummary } from "./run-head.ts";
export type { EventLine } from "./step-detail.ts";
export type { CommentView, StepView } from "./step-view.ts";

export type RunHead = ReturnType<typeof runHead>;
export type RunPatch = Awaited<ReturnType<typeof runPatch>>;
export type ProgressView = RunPatch["progress"][number];
export type AttemptView = StepView["attempts"][number];
export type DecisionView = NonNullable<ReturnType<typeof decisionOf>>;
export type RefusedView = StepView["refused"][number];
export type EarlierView = ReturnType<typeof earlierOf>[number];
export type StepDetail = ReturnType<typeof stepDetail>;
export type StepsPage = ReturnType<typeof stepsPage>;
export type TimelineView = ReturnType<typeof timelineView>;
export type GivenView = ReturnType<typeof givenView>;
export type RunCosts = ReturnType<typeof runCosts>;
export type RunsPage = Awaited<ReturnType<RunList["find"]>>;
export type ReviewQueue = Awaited<ReturnType<WaitingDecisions["find"]>>;
export type WaitingView = ReviewQueue["items"][number];
export type ClientReport = ReturnType<typeof clientReport>;
export type PlanView = ReturnType<typeof planView>;
export type OfferedView = ReturnType<typeof offeredView>;
export type CandidateView = ReturnType<typeof candidateView>;
export type ShownValue = ReturnType<typeof shownValueOf>;
export type StepInputView = ReturnType<typeof stepForm>;
export type DriftView = NonNullable<ResumePreview["drift"]>;
export type RerunView = NonNullable<ResumePreview["rerunScope"]>;
export type Gauges = Awaited<ReturnType<GaugeReader["read"]>>;
export type PickedView = Awaited<ReturnType<typeof keepFile>>;
export type WelcomeView = VisitorView & { readonly launcher: string };
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
