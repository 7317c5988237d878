export type { Catalog, CatalogModel, FieldProblem, JsonSchema } from "./catalog-port.ts";
export { type CriticalPath, criticalPath } from "./critical-path.ts";
export { type Draft, type Drafted, draft, filesOf, modelsOf } from "./draft.ts";
export { fingerprint } from "./fingerprint.ts";
export type { PlanContext } from "./kinds/kind.ts";
export { makePlan, type PlanOutcome } from "./make-plan.ts";
export { isReference, referencesOf, resolveInput } from "./references.ts";
