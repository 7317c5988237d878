export type { Catalog, CatalogModel, FieldProblem, JsonSchema } from "./catalog-port.ts";
export {
  changesBetween,
  diffPlans,
  expansionsIn,
  type FieldChange,
  groupsAround,
  outerPaths,
  type PlanDiff,
  withDependents,
} from "./diff.ts";
export { voiceKey } from "./kinds/job.ts";
export type { NamedVoice, PlanContext, VoicesByName } from "./kinds/kind.ts";
export {
  chatModelsOf,
  filesOf,
  makePlan,
  modelsOf,
  type PlanOutcome,
  planExpansionStepwise,
  planStepwise,
  voicesNamedIn,
  withSeeds,
} from "./make-plan.ts";
export { type DiagramOptions, planMermaid } from "./mermaid.ts";
export {
  canonicalJson,
  fingerprint,
  isOwnSource,
  isReference,
  plainJson,
  referencesOf,
  resolveInput,
} from "./plain-json.ts";
export { type Decision, type Draft, isPaid, type Reference, stepKinds, traitsOf } from "./plan.ts";
export {
  type AppliedProfile,
  editedFields,
  type Overlay,
  profileModels,
  profileProblems,
  type StepEdits,
  withEdits,
  withOverlay,
} from "./profile.ts";
export { suggestedValues } from "./schema.ts";
export {
  CANNOT_BE_MADE,
  givesWay,
  hasNext,
  isSecondChoice,
  type Option,
  optionBefore,
  optionsAround,
  optionsIn,
} from "./second-choice.ts";
export { criticalPath, expectedSpanMs, type JobLimits } from "./slots.ts";
export { FOR_CALLERS } from "./step.ts";
export { placesOf, repeatedTexts, type SameText, type TextChange, withTexts } from "./texts.ts";
