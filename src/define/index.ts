export type { Builder } from "./builder.ts";
export { BuilderClosedError, HandleMisuseError, PipelineDefinitionError } from "./errors.ts";
export { type FileInput, type FilePath, type FileSchema, file } from "./file.ts";
export type {
  AllMedia,
  AssetHandle,
  Handle,
  JobHandle,
  Media,
  MediaList,
  OutputHandle,
  OutputsHandle,
  UploadHandle,
  Voice,
} from "./handle.ts";
export { asset } from "./handle-value.ts";
export type { MediaKind } from "./media.ts";
export { type Model, type ModelFacts, model, type UntypedInput } from "./model.ts";
export { isPipeline, type Pipeline, type PipelineDefinition, pipeline } from "./pipeline.ts";
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
export type { JobOptions } from "./words/job.ts";
