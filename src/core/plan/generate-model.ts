/**
 * What all AI SDK models of specification v4 have in common. These types repeat those of `@ai-sdk/provider`, and a test
 * compares them.
 */
interface ModelBase {
  readonly specificationVersion: "v4";
  /** The provider's name, such as `fal.image`. */
  readonly provider: string;
  readonly modelId: string;
}

type MostPerCall =
  | number
  | undefined
  | ((options: { readonly modelId: string }) => PromiseLike<number | undefined> | number | undefined);

export interface ImageModel extends ModelBase {
  readonly maxImagesPerCall: MostPerCall;
  doGenerate(options: never): PromiseLike<ImageAnswer>;
}

export interface VideoModel extends ModelBase {
  readonly maxVideosPerCall: MostPerCall;
  doGenerate?(options: never): PromiseLike<VideoAnswer>;
  doStart?(options: never): PromiseLike<StartAnswer>;
  doStatus?(options: never): PromiseLike<StatusAnswer>;
}

export interface SpeechModel extends ModelBase {
  doGenerate(options: never): PromiseLike<SpeechAnswer>;
}

export type GenerateModel = ImageModel | VideoModel | SpeechModel;

/** The models that steps call, by kind of step. */
export interface ModelOfKind {
  readonly generate: GenerateModel;
}

/** What every response contains besides its media, such as the cost, keyed by provider name. */
interface AnswerBase {
  readonly providerMetadata?: object | undefined;
}

/** Images as Base64 text or as bytes. */
export interface ImageAnswer extends AnswerBase {
  readonly images: readonly (string | Uint8Array)[];
}

export interface SpeechAnswer extends AnswerBase {
  readonly audio: string | Uint8Array;
}

export interface VideoAnswer extends AnswerBase {
  readonly videos: readonly VideoData[];
}

export type VideoData =
  | { readonly type: "url"; readonly url: string; readonly mediaType: string }
  | { readonly type: "base64"; readonly data: string; readonly mediaType: string }
  | { readonly type: "binary"; readonly data: Uint8Array; readonly mediaType: string }
  /** The provider uploaded the media to a destination that the caller chose. Showrunner never chooses one. */
  | { readonly type: "uploaded"; readonly mediaType: string };

/** The response to a request that starts work. Only the provider knows what the JSON in `operation` means. */
export interface StartAnswer extends AnswerBase {
  readonly operation: unknown;
}

export type StatusAnswer =
  | ({ readonly status: "pending" } & AnswerBase)
  | ({ readonly status: "completed" } & VideoAnswer)
  | ({ readonly status: "error"; readonly error: string } & AnswerBase);
