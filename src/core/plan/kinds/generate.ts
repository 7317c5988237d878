import { didYouMean } from "../../kit/lookup.ts";
import { providerPromise } from "../../providers.ts";
import { fingerprint, referencesOf } from "../plain-json.ts";
import type {
  DraftJson,
  DraftStepBase,
  Json,
  MediaKind,
  ProviderPromise,
  ProviderStep,
  Reference,
  StepPolicy,
} from "../step.ts";
import { bindFreeInput, bindWhen, checkReadable, MEDIA, needsOf, type Planning, type StepKind } from "./kind.ts";

/** A request to another provider's image, video or speech model. */
export interface GenerateStep extends ProviderStep {
  readonly kind: "generate";
  readonly yields: MediaKind;
  /** Number of outputs that the input requests. */
  readonly outputs: number;
}

export interface GenerateDraft extends DraftStepBase {
  readonly kind: "generate";
  readonly model: string;
  readonly provider: string;
  readonly input: DraftJson;
  readonly yields: MediaKind;
  readonly isFindable: boolean;
  readonly repeatable: boolean;
  readonly mostOutputs: number | null;
  readonly price: { readonly micros: number; readonly of: DraftJson } | null;
  readonly policy: StepPolicy;
}

/**
 * Fields that all AI SDK models of specification v4 have in common. The model types in this file mirror those of
 * `@ai-sdk/provider`; a test checks that they match.
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

/** The part common to all responses: metadata, such as the cost, keyed by provider name. */
interface AnswerBase {
  readonly providerMetadata?: object | undefined;
}

/** A response with images, as Base64 text or bytes. */
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
  /** The provider uploaded the media to a destination that the caller chose. Showrunner never asks for this. */
  | { readonly type: "uploaded"; readonly mediaType: string };

/** The response to a request that starts work. Only the provider knows what the JSON in `operation` means. */
export interface StartAnswer extends AnswerBase {
  readonly operation: unknown;
}

export type StatusAnswer =
  | ({ readonly status: "pending" } & AnswerBase)
  | ({ readonly status: "completed" } & VideoAnswer)
  | ({ readonly status: "error"; readonly error: string } & AnswerBase);

const TYPICAL_MS = { image: 10_000, audio: 8_000, video: 90_000 } as const;
const ONLY_HANDLES = "pass upload(…), or the handle of a step that makes the file";

const FIELDS: { readonly [K in MediaKind]: { readonly [field: string]: "any" | "image" | "media" } } = {
  image: {
    prompt: "any",
    n: "any",
    size: "any",
    aspectRatio: "any",
    seed: "any",
    files: "image",
    mask: "image",
    providerOptions: "any",
  },
  video: {
    prompt: "any",
    n: "any",
    aspectRatio: "any",
    resolution: "any",
    duration: "any",
    fps: "any",
    seed: "any",
    image: "image",
    frameImages: "image",
    inputReferences: "media",
    generateAudio: "any",
    providerOptions: "any",
  },
  audio: {
    text: "any",
    voice: "any",
    outputFormat: "any",
    instructions: "any",
    speed: "any",
    language: "any",
    providerOptions: "any",
  },
};

const PROMISES = {
  keyed: "sent with an idempotency key, so the provider generates the result only once",
  "found again": "sent once, then polled",
  once: "sent once",
} as const satisfies Record<ProviderPromise, string>;

export const generateKind: StepKind<GenerateDraft, GenerateStep> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, model, provider, yields, repeatable } = draft;
    checkFields(draft, planning);
    const input = bindFreeInput(draft.input, "input", planning, {
      assets: `the asset is stored only on the service, not on this machine; ${ONLY_HANDLES}`,
      reference: (ref, source, field) => {
        checkReadable(ref, source, field, planning);
        checkPlace(ref, source.yields, field, { draft, planning });
      },
    });
    const step: GenerateStep = {
      kind: "generate",
      path,
      needs: needsOf(draft, draft.input),
      fingerprint: fingerprint({ kind: "generate", model, input }),
      ...bindWhen(draft.when, planning),
      model,
      provider,
      input,
      yields,
      outputs: countOf(draft, planning),
      promise: providerPromise(draft),
      ...(repeatable && { repeatable }),
      policy: { ...draft.policy, maxCostMicros: priceOf(draft) ?? draft.policy.maxCostMicros },
    };
    return { step };
  },
  facts: ({ yields, outputs }) => ({ ...MEDIA, yields, outputs }),
  traits: ({ model, provider, input, yields, policy, ...promised }) => ({
    noun: "request to a provider",
    note: `${model}, ${promiseText(promised)}`,
    subject: null,
    brackets: ["[", "]"],
    icon: "media",
    uses: referencesOf(input),
    requested: { model, input },
    pricing: {
      by: "usage",
      maxCostMicros: policy.maxCostMicros,
      why: `${provider} does not quote a price in advance; ${promiseText(promised)}`,
    },
    typicalMs: TYPICAL_MS[yields],
    modality: yields,
    needsCode: true,
    readsFiles: true,
    decision: null,
    submits: null,
    provider: { name: provider, promise: promised.promise },
    reuse: () => ({ kind: "generate", model }),
    file: null,
    standsFor: [],
    isChoice: false,
    expansion: null,
    keeps: true,
  }),
};

export function promiseText({ promise, repeatable }: Pick<GenerateStep, "promise" | "repeatable">): string {
  const again = repeatable === true && promise !== "keyed" ? ", but sent again if the answer is lost" : "";
  return `${PROMISES[promise]}${again}`;
}

function checkFields({ input, yields }: GenerateDraft, { report }: Planning): void {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return report("bad-input", "input", "the input must be an object, such as { prompt: … }");
  }
  const known = Object.keys(FIELDS[yields]);
  for (const field of Object.keys(input)) {
    if (known.includes(field)) continue;
    const hint = didYouMean(field, known) ?? `the accepted fields are ${known.join(", ")}`;
    report("unknown-field", `input.${field}`, `${yields} models do not accept ${field}; ${hint}`, { allowed: known });
  }
  if (yields === "audio" && !("text" in input))
    report("missing-field", "input.text", "`text` is missing; set it to the text to speak");
  for (const [field, takes] of Object.entries(FIELDS[yields])) {
    if (takes === "any" || !(field in input)) continue;
    const given = (input as { readonly [key: string]: DraftJson })[field]!;
    if (hasText(given)) report("not-media", `input.${field}`, `${field} expects media, not text; ${ONLY_HANDLES}`);
  }
}

function hasText(value: DraftJson): boolean {
  if (typeof value === "string") return true;
  if (typeof value !== "object" || value === null || "$ref" in value || "$asset" in value) return false;
  if (Array.isArray(value)) return value.some(hasText);
  return "image" in value && hasText((value as { readonly image: DraftJson }).image);
}

function checkPlace(
  ref: Reference["$ref"],
  yields: string | null,
  field: string,
  { draft, planning }: { readonly draft: GenerateDraft; readonly planning: Planning },
): void {
  const [, name = ""] = /^input\.([^.[]+)/.exec(field) ?? [];
  const takes = FIELDS[draft.yields][name] ?? "any";
  const isText = ref.as === "value" || ref.as === "voice";
  if (takes === "any") {
    const message = `${field} expects text or a value, but ${ref.step} makes media`;
    if (!isText) planning.report("not-a-value", field, message);
    return;
  }
  if (isText) planning.report("not-media", field, `${field} expects media, but ${ref.step} yields a value`);
  const kind = ref.kind ?? yields;
  if (takes !== "image" || isText || kind === null || kind === "image") return;
  planning.report("media-kind", field, `${field} expects an image, but ${ref.step} makes ${kind}`);
}

function countOf({ input, mostOutputs }: GenerateDraft, { report }: Planning): number {
  const n = typeof input === "object" && input !== null && "n" in input ? (input.n as DraftJson) : 1;
  if (typeof n !== "number" || !Number.isSafeInteger(n) || n < 1) {
    report("bad-count", "input.n", "n must be a whole number of at least 1; it cannot be the output of a step");
    return 1;
  }
  if (mostOutputs === null || n <= mostOutputs) return n;
  report("too-many-outputs", "input.n", `n can be at most ${mostOutputs} for this model; add steps for more outputs`);
  return n;
}

function priceOf({ input, price }: GenerateDraft): number | null {
  if (price === null) return null;
  return fingerprint(input as Json) === fingerprint(price.of as Json) ? price.micros : null;
}
