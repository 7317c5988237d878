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
export type { Draft } from "./draft.ts";
export { chatModelsOf } from "./kinds/chat.ts";
export { isPaid, stepKinds, traitsOf } from "./kinds/index.ts";
export { voiceKey, voicesNamedIn, withSeeds } from "./kinds/job.ts";
export type { NamedVoice, PlanContext, VoicesByName } from "./kinds/kind.ts";
export {
  filesOf,
  makePlan,
  modelsOf,
  type PlanOutcome,
  planExpansionStepwise,
  planStepwise,
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
export { type Decision, FOR_CALLERS, type Reference } from "./plan.ts";
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
export { placesOf, repeatedTexts, type SameText, type TextChange, withTexts } from "./texts.ts";
