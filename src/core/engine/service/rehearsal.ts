import { fetchForOperator } from "../../network/index.ts";
import type { GenerateModel, GenerateStep } from "../../plan/kinds/generate.ts";
import type { Json, ModelOfKind, PlanStep, ProviderKind } from "../../plan/plan.ts";

/** For each kind of step that calls a model, a function that returns the model to call instead. */
export type Substitutes = {
  readonly [K in ProviderKind]: (
    model: ModelOfKind[K],
    step: Extract<PlanStep, { readonly kind: K }>,
  ) => ModelOfKind[K];
};

const RENDER_MS = 10 * 60_000;

/** Returns a model for which the local service makes media of the requested kind, size and length. */
export function renderingModel(serviceUrl: string, model: GenerateModel, step: GenerateStep): GenerateModel {
  const { provider, modelId } = model;
  const render = (options: CallOptions) => rendered(serviceUrl, step, options);
  const base = { specificationVersion: "v4", provider, modelId, maxImagesPerCall: undefined } as const;
  const videos = async (options: CallOptions) => ({
    videos: (await render(options)).map(({ data, mediaType }) => ({ type: "binary", data, mediaType }) as const),
  });
  switch (step.yields) {
    case "image":
      return {
        ...base,
        doGenerate: async (options) => ({ images: (await render(options)).map(({ data }) => data) }),
      };
    case "audio":
      return { ...base, doGenerate: async (options) => ({ audio: (await render(options))[0]!.data }) };
    case "video": {
      const { maxVideosPerCall } = model as { readonly maxVideosPerCall?: number };
      if (step.promise === "once") return { ...base, maxVideosPerCall, doGenerate: videos };
      return {
        ...base,
        maxVideosPerCall,
        doStart: async (options: CallOptions) => ({ operation: { rehearsal: plainCall(options) } }),
        doStatus: async ({ operation }: { readonly operation: { readonly rehearsal: CallOptions } }) => {
          return { status: "completed", ...(await videos(operation.rehearsal)) } as const;
        },
      };
    }
    default:
      return step.yields satisfies never;
  }
}

interface CallOptions {
  readonly [option: string]: unknown;
}

function plainCall({ prompt, text, n, size, aspectRatio, resolution, duration, seed }: CallOptions) {
  return { prompt, text, n, size, aspectRatio, resolution, duration, seed };
}

async function rendered(serviceUrl: string, step: GenerateStep, options: CallOptions) {
  const count = typeof options.n === "number" ? options.n : 1;
  return Promise.all(Array.from({ length: count }, (_, index) => renderOne(serviceUrl, step, { options, index })));
}

async function renderOne(
  serviceUrl: string,
  { path, yields }: GenerateStep,
  { options, index }: { readonly options: CallOptions; readonly index: number },
): Promise<{ readonly data: Uint8Array; readonly mediaType: string }> {
  const kind = yields === "audio" ? "speech" : yields;
  const seed =
    typeof options.seed === "number" ? options.seed : seedOf(`${path} ${options.prompt ?? options.text ?? ""}`);
  const response = await fetchForOperator(new URL("/_local/render", serviceUrl), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ kind, index, seed, input: renderInput(options) }),
    signal: AbortSignal.timeout(RENDER_MS),
  });
  if (!response.ok)
    throw new Error(`the local service could not render media for the rehearsal: HTTP ${response.status}`);
  const { content_type: mediaType, data } = (await response.json()) as { content_type: string; data: string };
  return { data: new Uint8Array(Buffer.from(data, "base64")), mediaType };
}

function renderInput({ prompt, text, size, aspectRatio, resolution, duration }: CallOptions): Json {
  const [, width = "", height = ""] = /^(\d+)x(\d+)$/.exec(String(size ?? resolution ?? "")) ?? [];
  const [w, h] = [Number(width), Number(height)];
  const isSized = w > 0 && h > 0;
  return {
    prompt: typeof prompt === "string" ? prompt : "",
    text: typeof text === "string" ? text : "",
    ...(isSized
      ? { aspect_ratio: `${w}:${h}`, resolution: size === undefined ? `${Math.min(w, h)}p` : kilopixels(w, h) }
      : typeof aspectRatio === "string" && { aspect_ratio: aspectRatio }),
    ...(typeof duration === "number" && { duration_ms: Math.round(duration * 1000) }),
  };
}

function kilopixels(width: number, height: number): string {
  return `${Math.min(4, Math.max(0.1, Math.sqrt(width * height) / 1024)).toFixed(1)}k`;
}

function seedOf(text: string): number {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + character.codePointAt(0)!) % 2_147_483_647;
  return sum;
}
