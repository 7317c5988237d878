export { allowedHosts } from "./http/guard.ts";
export type { Dashboard, DashboardOptions, OfferedPipeline } from "./options.ts";
export { PortInUseError } from "./options.ts";
export { startDashboard } from "./start.ts";
