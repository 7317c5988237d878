export { type FileInput, file } from "./file.ts";
export type {
  AssetReference,
  Handle,
  JobHandle,
  Media,
  MediaList,
  OutputHandle,
  OutputsHandle,
  UploadHandle,
  Voice,
} from "./handle.ts";
export type { MediaKind } from "./media.ts";
export { type Model, model } from "./model.ts";
export { type Builder, isPipeline, type JobOptions, type Pipeline, pipeline, type Returns } from "./pipeline.ts";
export type { AudioResult, ImageResult, ResultOf, VideoResult, VoiceResult } from "./result.ts";
