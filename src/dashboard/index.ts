export { PortInUseError } from "./errors.ts";
export type { Dashboard, DashboardOptions, OfferedPipeline } from "./options.ts";
export { startDashboard } from "./start.ts";
