export { type CriticalPath, criticalPath } from "./critical-path.ts";
export { type Draft, draft, filesOf, modelsOf } from "./draft.ts";
export { fingerprint } from "./fingerprint.ts";
export { makePlan, type PlanContext, type PlanOutcome } from "./make-plan.ts";
export { referencesOf, resolveInput } from "./references.ts";
