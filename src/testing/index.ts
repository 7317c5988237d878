export { assertSucceeded } from "./assert-run.ts";
export type { KillOptions, KillReport } from "./assert-survives-kills.ts";
export { approveAll, type Decide, type Decision, type WaitingStep } from "./process.ts";
export { type Studio, type StudioRunOptions, startStudio } from "./studio.ts";
export type { StudioOptions, StudioTime } from "./surroundings.ts";
