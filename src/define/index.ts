export type { Builder } from "./builder.ts";
export { equals, failed, not, quorum, type When, type WhenCondition } from "./condition.ts";
export type { Candidate, Draft, LocalFile, LocalFunction, TaskContext } from "./draft.ts";
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
export { asset } from "./handle-value.ts";
export type { MediaKind } from "./media.ts";
export { type Model, type ModelFacts, model, type UntypedInput } from "./model.ts";
export { isPipeline, type Pipeline, type PipelineDefinition, pipeline } from "./pipeline.ts";
export { fieldsOf, type Profile, type ProfileFields, type ProfileStep, type Profiles, swap } from "./profile.ts";
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
export type { ApproveOptions } from "./words/approve.ts";
export type { ChatInput, ChatOptions } from "./words/chat.ts";
export type { ChooseOptions } from "./words/choose.ts";
export type { ExpandOptions } from "./words/expand.ts";
export type { IncludeOptions } from "./words/include.ts";
export type { JobOptions } from "./words/job.ts";
export type { StepOptions } from "./words/options.ts";
export type { TakesOptions } from "./words/takes.ts";
export type { TaskOptions } from "./words/task.ts";
export type { BytesInput } from "./words/upload.ts";
export type { Words } from "./words/words.ts";
