// The server's answers to the page. Money is in micro-dollars, times are in epoch milliseconds. Long texts from users
// are cut.
import type { keepFile } from "../../served/index.ts";
import type { VisitorView } from "../http/route.ts";
import type { clientReport } from "../report/write-report.ts";
import type { candidateView, offeredView, planView } from "../routes/action-routes.ts";
import type { givenView, runList, stepsPage, timelineView } from "../routes/read-routes.ts";
import type { ResumePreview } from "../routes/resume-routes.ts";
import type { waitingDecisions } from "../routes/review-routes.ts";
import type { GaugeReader, runPatch } from "../runs/watch.ts";
import type { shownValueOf, stepForm } from "./input-form.ts";
import type { decisionOf, earlierOf, PageStep } from "./page-step.ts";
import type { runCosts } from "./run-costs.ts";
import type { runHead } from "./run-head.ts";
import type { stepDetail } from "./step-detail.ts";

export type { StepProgress } from "../../../core/view/index.ts";
export type { VisitorView } from "../http/route.ts";
export type { SharedPage } from "../links/link-routes.ts";
export type { ReviewLinkView } from "../links/review-link.ts";
export type { SharedDecision, SharedTake } from "../links/shared-decisions.ts";
export type { InlinedRun } from "../report/write-report.ts";
export type { AllCosts } from "../routes/cost-routes.ts";
export type { ResumePreview } from "../routes/resume-routes.ts";
export type { StepCounts, StepGroup } from "./groups.ts";
export type { Control, FieldView } from "./input-form.ts";
export type { PageMedia } from "./page-media.ts";
export type { PageComment, PageStep } from "./page-step.ts";
export type { RunSummary } from "./run-head.ts";
export type { EventLine } from "./step-detail.ts";

export type RunHead = ReturnType<typeof runHead>;
export type RunPatch = Awaited<ReturnType<typeof runPatch>>;
export type PageAttempt = PageStep["attempts"][number];
export type PageDecision = NonNullable<ReturnType<typeof decisionOf>>;
export type RefusedMedia = PageStep["refused"][number];
export type EarlierMedia = ReturnType<typeof earlierOf>[number];
export type StepDetail = ReturnType<typeof stepDetail>;
export type StepsPage = ReturnType<typeof stepsPage>;
export type PageTimeline = ReturnType<typeof timelineView>;
export type GivenInput = ReturnType<typeof givenView>;
export type RunCosts = ReturnType<typeof runCosts>;
export type RunsPage = Awaited<ReturnType<ReturnType<typeof runList>>>;
export type ReviewQueue = Awaited<ReturnType<ReturnType<typeof waitingDecisions>>>;
export type QueuedDecision = ReviewQueue["items"][number];
export type ClientReport = ReturnType<typeof clientReport>;
export type PagePlan = ReturnType<typeof planView>;
export type OfferedForm = ReturnType<typeof offeredView>;
export type JobCandidate = ReturnType<typeof candidateView>;
export type ShownValue = ReturnType<typeof shownValueOf>;
export type StepForm = ReturnType<typeof stepForm>;
export type PageDrift = NonNullable<ResumePreview["drift"]>;
export type PageRerun = NonNullable<ResumePreview["rerunScope"]>;
export type Gauges = Awaited<ReturnType<GaugeReader["read"]>>;
export type KeptFile = Awaited<ReturnType<typeof keepFile>>;
export type WelcomeView = VisitorView & { readonly launcher: string };
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
