import type { ImageModelV4, SpeechModelV4, Experimental_VideoModelV4 as VideoModelV4 } from "@ai-sdk/provider";
import { greyPng, plainWav } from "../../src/core/kit/placeholder-media.ts";
import { pipelineOf } from "./pipelines.ts";
import { TINY_MP4 } from "./tiny-media.ts";

/** How a request to a mock ends: with a result, with an error, or never. `made`: the work was done despite the error. */
export type Ending = "made" | { readonly throws: unknown; readonly made?: boolean } | "never";

/** A provider in this process. It counts its requests and its works. */
export class MockProvider {
  readonly name: string;
  /** Options of each request for work. */
  readonly requests: Readonly<Record<string, unknown>>[] = [];
  /** Number of finished works, each of which was charged. */
  made = 0;
  asked = 0;
  /** How each further request ends; the last ending is used for all later requests. */
  endings: Ending[];
  /** Number of times that an operation is pending before it is done. */
  pending = 0;
  metadata: Record<string, never> | Record<string, Record<string, string>> = {};
  /** Returns an operation's status in place of completed. */
  status: (() => unknown) | null = null;
  readonly #operations = new Map<string, number>();

  constructor(name = "mock", endings: Ending[] = ["made"]) {
    this.name = name;
    this.endings = endings;
  }

  image(modelId = "painter"): ImageModelV4 {
    return {
      ...this.#facts(modelId, "image"),
      maxImagesPerCall: 4,
      doGenerate: async (options) => {
        await this.#end(options);
        const images = Array.from({ length: options.n }, () => new Uint8Array(greyPng(64)));
        return { images, warnings: [], providerMetadata: this.metadata as never, response: this.#response(modelId) };
      },
    };
  }

  speech(modelId = "speaker"): SpeechModelV4 {
    return {
      ...this.#facts(modelId, "speech"),
      doGenerate: async (options) => {
        await this.#end(options);
        const { timestamp } = this.#response(modelId);
        return { audio: new Uint8Array(plainWav(500)), warnings: [], response: { timestamp, modelId } };
      },
    };
  }

  /** A video model that responds when its work is done. */
  video(modelId = "filmer"): VideoModelV4 {
    return {
      ...this.#facts(modelId, "video"),
      maxVideosPerCall: 1,
      doGenerate: async (options) => {
        await this.#end(options);
        return { videos: [video()], warnings: [], response: this.#response(modelId) };
      },
    };
  }

  /** A video model that starts an operation, which is then polled. Requests with a known key start nothing new. */
  startingVideo(modelId = "director"): VideoModelV4 {
    const keys = new Map<string, string>();
    return {
      ...this.#facts(modelId, "video"),
      maxVideosPerCall: 1,
      doStart: async (options) => {
        const key = options.headers?.["idempotency-key"];
        const known = key === undefined ? undefined : keys.get(key);
        const id = known ?? `operation-${this.#operations.size + 1}`;
        await this.#end(options, known === undefined, () => {
          this.#operations.set(id, this.pending);
          if (key !== undefined) keys.set(key, id);
        });
        return { operation: { id }, warnings: [], response: this.#response(modelId) };
      },
      doStatus: async ({ operation }) => {
        this.asked++;
        const { id } = operation as { readonly id: string };
        // A provider remembers for longer than a process of a test lives.
        const left = this.#operations.get(id) ?? 0;
        const response = this.#response(modelId);
        if (this.status !== null) return this.status() as never;
        this.#operations.set(id, left - 1);
        if (left > 0) return { status: "pending", response };
        return { status: "completed", videos: [video()], warnings: [], response };
      },
    };
  }

  async #end(options: object, isNew = true, make = () => {}): Promise<void> {
    this.requests.push({ ...options });
    const [ending = "made"] = this.endings;
    if (this.endings.length > 1) this.endings.shift();
    const isMade = ending === "made" || ending === "never" || ending.made === true;
    if (isMade && isNew) {
      this.made++;
      make();
    }
    if (ending === "never") await new Promise(() => {});
    if (typeof ending === "object") throw ending.throws;
  }

  #facts(modelId: string, kind: string) {
    return { specificationVersion: "v4", provider: `${this.name}.${kind}`, modelId } as const;
  }

  #response(modelId: string) {
    return { timestamp: new Date(0), modelId, headers: undefined };
  }
}

function video() {
  return { type: "binary" as const, data: new Uint8Array(TINY_MP4), mediaType: "video/mp4" };
}

/** The error that AI SDK packages throw for an error response; `of`: the body of the request. */
export function apiCallError(
  statusCode: number | undefined,
  message: string,
  of: object = { prompt: "a red boat" },
): Error {
  const error = Object.assign(new Error(message), { statusCode, requestBodyValues: of, isRetryable: false });
  error.name = "AI_APICallError";
  return error;
}

/** A pipeline of one picture by the provider. */
export const pictureBy = (provider: MockProvider, more: object = {}) =>
  pipelineOf("still", ({ generate }) => ({
    still: generate("still", provider.image(), { prompt: "a red boat" }, { maxCost: "0.05", ...more }),
  }));

/** A pipeline of one film by the provider, which starts an operation. */
export const filmBy = (provider: MockProvider, more: object = {}) =>
  pipelineOf("film", ({ generate }) => ({
    film: generate("film", provider.startingVideo(), { prompt: "a red boat" }, { maxCost: "0.50", ...more }),
  }));
