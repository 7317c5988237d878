export type { Candidate, Draft, LocalFile, LocalFunction, TaskContext } from "../plan/draft.ts";
export type { MediaKind } from "../plan/plan.ts";
export type { Builder, StepMethods } from "./builder.ts";
export { equals, failed, not, quorum, type When, type WhenCondition } from "./condition.ts";
export { BuilderClosedError, HandleMisuseError, PipelineDefinitionError } from "./errors.ts";
export { type FileInput, type FilePath, type FileSchema, file } from "./file.ts";
export type {
  AllMedia,
  AssetHandle,
  ExpandHandle,
  FilesTaskHandle,
  FileTaskHandle,
  Handle,
  JobHandle,
  Media,
  MediaList,
  OrValue,
  OutputHandle,
  OutputsHandle,
  TakesHandle,
  TaskHandle,
  UploadHandle,
  Value,
  ValueHandle,
  ValuesHandle,
  ValueTaskHandle,
  Voice,
} from "./handle.ts";
export { asset, knownText } from "./handle-value.ts";
export { type Model, type ModelFacts, model, typedModels, type UntypedInput } from "./model.ts";
export {
  corrected,
  type Drafted,
  draft,
  isPipeline,
  outdatedInput,
  type Pipeline,
  type PipelineDefinition,
  pipeline,
  redraft,
} from "./pipeline.ts";
export {
  changeOf,
  fieldsOf,
  type Profile,
  type ProfileFields,
  type ProfileStep,
  type Profiles,
  profileNamed,
  swap,
} from "./profile.ts";
export type {
  AudioResult,
  ImageResult,
  PartialResultOf,
  ResultOf,
  Returnable,
  Returns,
  UntypedResult,
  UploadResult,
  VideoResult,
  VoiceResult,
} from "./result.ts";
export { text } from "./result.ts";
export { callSite } from "./step-name.ts";
export type { AcceptOptions, Inspected, Inspector } from "./steps/accept.ts";
export type { ApproveOptions } from "./steps/approve.ts";
export type { ChatInput, ChatOptions } from "./steps/chat.ts";
export type { ChooseOptions } from "./steps/choose.ts";
export type { ExpandOptions } from "./steps/expand.ts";
export type { IncludeOptions } from "./steps/include.ts";
export type { JobOptions } from "./steps/job.ts";
export type { StepOptions } from "./steps/options.ts";
export type { TakesOptions } from "./steps/takes.ts";
export type { TaskOptions } from "./steps/task.ts";
export type { BytesInput } from "./steps/upload.ts";
