export type { Candidate, Draft, LocalFile, LocalFunction, MediaKind, TaskContext } from "../plan/plan.ts";
export { BuilderClosedError, callSite, HandleMisuseError, PipelineDefinitionError } from "./errors.ts";
export {
  type AllMedia,
  type AssetHandle,
  asset,
  type ExpandHandle,
  type FilesTaskHandle,
  type FileTaskHandle,
  type Handle,
  type JobHandle,
  knownText,
  type Media,
  type MediaList,
  type OrValue,
  type OutputHandle,
  type OutputsHandle,
  type TakesHandle,
  type TaskHandle,
  type UploadHandle,
  type Value,
  type ValueHandle,
  type ValuesHandle,
  type ValueTaskHandle,
  type Voice,
} from "./handle.ts";
export {
  changeOf,
  fieldsOf,
  type Model,
  type ModelFacts,
  model,
  type Profile,
  type ProfileFields,
  type ProfileStep,
  type Profiles,
  profileNamed,
  swap,
  typedModels,
  type UntypedInput,
} from "./model.ts";
export {
  type Builder,
  corrected,
  type Drafted,
  draft,
  isPipeline,
  outdatedInput,
  type Pipeline,
  type PipelineDefinition,
  pipeline,
  redraft,
  type StepMethods,
} from "./pipeline.ts";
export {
  type AudioResult,
  type ImageResult,
  type PartialResultOf,
  type ResultOf,
  type Returnable,
  type Returns,
  text,
  type UntypedResult,
  type UploadResult,
  type VideoResult,
  type VoiceResult,
} from "./result.ts";
export type { ApproveOptions } from "./steps/approve.ts";
export type { ChatInput, ChatOptions } from "./steps/chat.ts";
export type { ChooseOptions } from "./steps/choose.ts";
export type { ExpandOptions } from "./steps/expand.ts";
export type { IncludeOptions } from "./steps/include.ts";
export type { AcceptOptions, Inspected, Inspector, JobOptions, TakesOptions } from "./steps/job.ts";
export { equals, failed, not, quorum, type StepOptions, type When, type WhenCondition } from "./steps/options.ts";
export type { TaskOptions } from "./steps/task.ts";
export { type BytesInput, type FileInput, type FilePath, type FileSchema, file } from "./steps/upload.ts";
