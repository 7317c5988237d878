export { allowedHosts } from "./http/visitor.ts";
export { originOf } from "./links/link-routes.ts";
export { createReviewLink, type ReviewLinkView, reviewLinkUrl, reviewLinkView } from "./links/review-link.ts";
export { type Dashboard, type DashboardOptions, type OfferedPipeline, PortInUseError } from "./options.ts";
export { planSvg } from "./plan-svg.ts";
export { type WriteReportOptions, writeReport } from "./report/write-report.ts";
export { listen, shut, startDashboard } from "./start.ts";
