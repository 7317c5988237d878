import { parseUsd } from "../../kit/money.ts";
import type { GenerateDraft, GenerateModel, ImageModel, SpeechModel, VideoModel } from "../../plan/kinds/generate.ts";
import type { DraftJson, MediaKind } from "../../plan/plan.ts";
import { providerOf } from "../../providers.ts";
import { type Handle, type JobHandle, jobHandle, type Media, type MediaList, type OrValue } from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import type { Settled } from "./approve.ts";
import { type MediaOptions, OptionReader, PAID_OPTIONS, type WithinOption, type WorkOptions } from "./options.ts";
import { addRewriting, isRewriting, MODERATED_OPTIONS, type ModeratedOptions } from "./rewrite.ts";

/** Options for individual providers. Each provider's documentation lists its own. */
interface ProviderOptions {
  /** Options, keyed by the provider's name, such as `fal`. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: unknown } } | undefined;
}

/** Call options of `ImageModelV4`. `n` is 1 by default. */
export interface GenerateImage extends ProviderOptions {
  readonly prompt?: OrValue<string> | undefined;
  readonly n?: number | undefined;
  readonly size?: `${number}x${number}` | undefined;
  readonly aspectRatio?: `${number}:${number}` | undefined;
  readonly seed?: number | undefined;
  /** Images to edit or to make variations of. */
  readonly files?: MediaList<"image"> | undefined;
  readonly mask?: Media<"image"> | undefined;
}

/** Call options of `VideoModelV4`. `n` is 1 by default. */
export interface GenerateVideo extends ProviderOptions {
  readonly prompt?: OrValue<string> | undefined;
  readonly n?: number | undefined;
  readonly aspectRatio?: `${number}:${number}` | "adaptive" | undefined;
  readonly resolution?: `${number}x${number}` | undefined;
  /** Duration in seconds. */
  readonly duration?: OrValue<number> | undefined;
  readonly fps?: number | undefined;
  readonly seed?: number | undefined;
  readonly image?: Media<"image"> | undefined;
  readonly frameImages?:
    | readonly { readonly image: Media<"image">; readonly frameType: "first_frame" | "last_frame" }[]
    | undefined;
  readonly inputReferences?: MediaList<MediaKind> | undefined;
  readonly generateAudio?: boolean | undefined;
}

/** Call options of `SpeechModelV4`. */
export interface GenerateSpeech extends ProviderOptions {
  readonly text: OrValue<string>;
  readonly voice?: OrValue<string> | undefined;
  readonly outputFormat?: string | undefined;
  readonly instructions?: OrValue<string> | undefined;
  readonly speed?: number | undefined;
  readonly language?: string | undefined;
}

export interface GenerateOptions<I = GenerateImage | GenerateVideo | GenerateSpeech>
  extends WorkOptions,
    MediaOptions,
    WithinOption {
  /**
   * Maximum cost of one attempt, in US dollars as a decimal string. Providers quote no prices, so this amount is
   * reserved.
   */
  readonly maxCost: string;
  /**
   * Returns the cost of this input in US dollars, at most `maxCost`. Called once, when the plan is made. Default:
   * `maxCost`.
   */
  readonly price?: ((input: I) => string) | undefined;
  /**
   * Whether Showrunner may send the request again if its response is lost. The lost request may have been charged, so
   * its cost is treated as spent. Default false: a person decides.
   */
  readonly repeatable?: boolean | undefined;
}

type Moderated = "fail" | "rewrite" | undefined;
type Generated<K extends MediaKind, R, I> = R extends "rewrite"
  ? Handle<K, "single">
  : JobHandle<K, number, Settled<I>>;

export interface GenerateMethod {
  /**
   * Adds a request to another provider's model. `model` can be any AI SDK model that implements specification v4, such
   * as `fal.image("…")` from `@ai-sdk/fal`. `input` takes the call options of that specification.
   */
  <R extends Moderated = undefined>(
    name: string,
    model: ImageModel,
    input: GenerateImage,
    options: GenerateOptions<GenerateImage> & ModeratedOptions<R>,
  ): Generated<"image", R, GenerateImage>;
  <R extends Moderated = undefined>(
    name: string,
    model: VideoModel,
    input: GenerateVideo,
    options: GenerateOptions<GenerateVideo> & ModeratedOptions<R>,
  ): Generated<"video", R, GenerateVideo>;
  <R extends Moderated = undefined>(
    name: string,
    model: SpeechModel,
    input: GenerateSpeech,
    options: GenerateOptions<GenerateSpeech> & ModeratedOptions<R>,
  ): Generated<"audio", R, GenerateSpeech>;
}

const OPTIONS: readonly string[] = [...PAID_OPTIONS, "price", "repeatable", "expect", ...MODERATED_OPTIONS];

export function generateMethod(recorder: Recorder): GenerateMethod {
  return <K extends MediaKind>(name: string, model: GenerateModel, given: object, options: GenerateOptions<never>) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a generate step", OPTIONS);
    const facts = factsOf(model, path, recorder);
    const input = recorder.json(given, { step: path, field: "input" });
    if (read.get("maxCost") === undefined) {
      read.bad(
        "maxCost",
        'maxCost is missing; providers do not quote prices, so set the most that the step may cost, such as "0.05"',
      );
    }
    const repeatable = read.get("repeatable") ?? false;
    if (typeof repeatable !== "boolean") read.bad("repeatable", "`repeatable` must be true or false");
    const policy = read.policy();
    const step = {
      kind: "generate",
      ...facts,
      price: priceOf(read, { given, input }, policy.maxCostMicros),
      repeatable: repeatable === true,
      after: read.after(),
      when: read.when(),
    } as const;
    const add = (part: Recorder, fields: Pick<GenerateDraft, "path" | "input" | "policy">) => {
      part.add({ ...step, ...fields });
      part.bind(fields.path, { kind: "generate", model });
    };
    if (isRewriting(read))
      return addRewriting(recorder, name, { input, policy, yields: facts.yields, add }, read) as never;
    add(recorder, { path, input, policy });
    return jobHandle<K, number>(path, facts.yields as K, { build: recorder.build, input });
  };
}

/** Replaces a value that is not a model, so that the build continues and finds other mistakes. */
const NO_MODEL = { model: "none", provider: "none", yields: "image", isFindable: false, mostOutputs: null } as const;

function factsOf(model: GenerateModel, step: string, { report }: Recorder) {
  const yields = kindOf(model);
  if (yields === null) {
    report({ code: "not-a-model", step, field: "model", message: noModel(model) });
    return NO_MODEL;
  }
  const { provider, modelId } = model;
  return {
    model: `${provider}:${modelId}`,
    provider: providerOf(provider),
    yields,
    isFindable: "doStart" in model && "doStatus" in model && !!model.doStart && !!model.doStatus,
    mostOutputs: yields === "audio" ? 1 : mostOf(model as ImageModel | VideoModel),
  };
}

function kindOf(model: unknown): MediaKind | null {
  if (typeof model !== "object" || model === null) return null;
  const is = (name: string) => name in model;
  const known = model as Partial<Record<string, unknown>>;
  const isV4 = known.specificationVersion === "v4" && typeof known.provider === "string";
  if (!isV4 || typeof known.modelId !== "string" || known.modelId === "") return null;
  if (is("maxVideosPerCall") || is("doStart")) return "video";
  if (typeof known.doGenerate !== "function") return null;
  if (is("maxImagesPerCall")) return "image";
  // Language and transcription models also have `doGenerate`.
  if (is("supportedUrls") || /transcription/i.test(known.provider as string)) return null;
  return "audio";
}

function mostOf(model: ImageModel | VideoModel): number | null {
  const most = "maxImagesPerCall" in model ? model.maxImagesPerCall : model.maxVideosPerCall;
  if (typeof most !== "function") return most ?? 1;
  try {
    const answer = most({ modelId: model.modelId });
    return typeof answer === "number" ? answer : answer === undefined ? 1 : null;
  } catch {
    return null;
  }
}

function noModel(model: unknown): string {
  const version =
    typeof model === "object" && model && "specificationVersion" in model ? model.specificationVersion : "v4";
  if (version !== "v4")
    return `the model implements AI SDK specification ${String(version)}, but Showrunner needs v4; ${NEWER}`;
  const given =
    typeof model === "object" && model
      ? "the value given"
      : typeof model === "string"
        ? `the text ${JSON.stringify(model)}`
        : String(model);
  return `${given} is not a supported model; ${GIVE_A_MODEL}`;
}

const GIVE_A_MODEL =
  "use an image, video or speech model that implements AI SDK specification v4, such as fal.image(…) from @ai-sdk/fal, or use job(…) for one of the service's models";

/**
 * Advises `@latest`, because without a tag npm prefers a release whose `engines` fit the current Node, even an old one.
 */
const NEWER =
  "install the provider's latest release explicitly, for example with npm i @ai-sdk/fal@latest (without @latest, npm on Node 20 installs an older one)";

function priceOf(
  read: OptionReader,
  { given, input }: { readonly given: object; readonly input: DraftJson },
  maxCostMicros: number | null,
): { readonly micros: number; readonly of: DraftJson } | null {
  const price = read.get("price");
  if (price === undefined) return null;
  if (typeof price !== "function") {
    read.bad("price", "`price` must be a function that takes the input");
    return null;
  }
  let usd: unknown;
  try {
    usd = price(given);
  } catch {
    return null;
  }
  const micros = typeof usd === "string" ? parseUsd(usd) : null;
  if (micros === null) {
    read.bad(
      "price",
      `\`price\` returned ${JSON.stringify(usd)}; it must return US dollars as a decimal string, such as "0.04"`,
    );
    return null;
  }
  if (maxCostMicros === null || micros <= maxCostMicros) return { micros, of: input };
  read.bad("price", `\`price\` returned ${usd as string} USD, above maxCost; raise maxCost or make a cheaper request`);
  return null;
}
