import { join } from "node:path";
import type { VideoModel } from "../../../../src/core/plan/kinds/generate.ts";
import { PACKAGES } from "./models.ts";

/** Possible responses to a status request that packages treat differently. */
export const STATUS_ANSWERS = [
  "503",
  "401",
  "404",
  "502 with HTML",
  "429",
  "an unknown status",
  "missing fields",
  "no connection",
  "no response in time",
  "failed",
  "succeeded",
] as const;

type StatusOutcome = "throws" | "pending" | "error" | "completed";

const throwing = ["throws", "throws", "throws", "throws", "throws"] as const;
const erring = ["error", "error", "error", "error", "error"] as const;

/** The outcome of each package's `doStatus` for these responses, in order: an exception or a status. */
export const OUTCOMES: { readonly [provider: string]: readonly StatusOutcome[] } = {
  fal: [...erring, "error", "throws", "error", "throws", "error", "completed"],
  replicate: [...throwing, "throws", "throws", "throws", "throws", "error", "completed"],
  gateway: [...throwing, "throws", "throws", "throws", "throws", "error", "completed"],
  google: [...throwing, "pending", "throws", "throws", "throws", "error", "completed"],
  alibaba: [...throwing, "pending", "throws", "throws", "throws", "error", "completed"],
  xai: [...throwing, "pending", "error", "throws", "throws", "error", "completed"],
};

export type StatusAnswer = (typeof STATUS_ANSWERS)[number];

/** Bodies of a provider's responses about a work: first the response to the start, then the statuses. */
interface Bodies {
  readonly started: object;
  readonly pending: object;
  readonly "an unknown status": object;
  /** The work succeeded, but its result is missing. */
  readonly "missing fields": object;
  readonly failed: object;
  readonly succeeded: (film: string) => object;
}

interface Package {
  readonly create: string;
  readonly bodies: Bodies;
  /** HTTP statuses of responses whose body is not sufficient. */
  readonly http?: Partial<Record<keyof Bodies, number>>;
}

const prediction = {
  ...{ id: "p1", metrics: {}, error: null, output: null },
  urls: { get: "https://api.replicate.com/v1/predictions/p1" },
};
const task = (output: object) => ({ request_id: "q1", output: { task_id: "t1", ...output } });
const google = (madeOf: (uri: string) => object): Bodies => ({
  started: { name: "operations/o1" },
  pending: { name: "operations/o1" },
  "an unknown status": { state: "QUEUED" },
  "missing fields": { name: "operations/o1", done: true },
  failed: { name: "operations/o1", done: true, error: { code: 3, message: "it failed" } },
  succeeded: (film) => ({ name: "operations/o1", done: true, response: madeOf(film) }),
});

/** The packages, with responses that their documentation describes and their schemas allow. */
export const PACKAGES_ASKED: Readonly<Record<string, Package>> = {
  fal: {
    create: "createFal",
    bodies: {
      started: { request_id: "r1", response_url: "https://queue.fal.run/fal-ai/film/requests/r1" },
      pending: { detail: "Request is still in progress" },
      "an unknown status": { detail: "Request is on hold" },
      "missing fields": { video: null },
      failed: { detail: [{ loc: ["body"], msg: "it failed", type: "downstream_service_error" }] },
      succeeded: (url) => ({ video: { url, content_type: "video/mp4" } }),
    },
    http: { pending: 400, "an unknown status": 400, failed: 422 },
  },
  replicate: {
    create: "createReplicate",
    bodies: {
      started: { ...prediction, status: "starting" },
      pending: { ...prediction, status: "processing" },
      "an unknown status": { ...prediction, status: "on hold" },
      "missing fields": { ...prediction, status: "succeeded" },
      failed: { ...prediction, status: "failed", error: "it failed" },
      succeeded: (output) => ({ ...prediction, status: "succeeded", output }),
    },
  },
  gateway: {
    create: "createGateway",
    bodies: {
      started: { operation: { jobId: "j1" } },
      pending: { status: "pending" },
      "an unknown status": { status: "on hold" },
      "missing fields": { status: "completed" },
      failed: { status: "error", error: "it failed" },
      succeeded: (url) => ({ status: "completed", videos: [{ type: "url", url, mediaType: "video/mp4" }] }),
    },
  },
  google: {
    create: "createGoogle",
    bodies: google((uri) => ({ generateVideoResponse: { generatedSamples: [{ video: { uri } }] } })),
  },
  "google-vertex": {
    create: "createVertex",
    bodies: google((gcsUri) => ({ videos: [{ gcsUri, mimeType: "video/mp4" }] })),
  },
  alibaba: {
    create: "createAlibaba",
    bodies: {
      started: task({ task_status: "PENDING" }),
      pending: task({ task_status: "RUNNING" }),
      "an unknown status": task({ task_status: "UNKNOWN" }),
      "missing fields": task({ task_status: "SUCCEEDED" }),
      failed: task({ task_status: "FAILED", message: "it failed" }),
      succeeded: (video_url) => task({ task_status: "SUCCEEDED", video_url }),
    },
  },
  xai: {
    create: "createXai",
    bodies: {
      started: { request_id: "x1" },
      pending: { status: "pending" },
      "an unknown status": { status: "on hold" },
      "missing fields": { status: "done", video: {} },
      failed: { status: "failed", error: { message: "it failed" } },
      succeeded: (url) => ({ status: "done", video: { url } }),
    },
  },
};

/** A video model of a real package, whose requests are answered here. */
export class AskedPackage {
  readonly #package: Package;
  readonly #name: string;
  /** URL of the film. */
  readonly #film: string;
  /** Requests that ask for work. */
  starts = 0;
  /** Returns the response to a status request. */
  answer: () => StatusAnswer | "pending" = () => "pending";

  constructor(name: string, film: string) {
    this.#name = name;
    this.#package = PACKAGES_ASKED[name]!;
    this.#film = film;
  }

  async model(options: object = { fetch: this.fetch }): Promise<VideoModel> {
    const path = join(PACKAGES, this.#name, "dist/index.js");
    const { create } = this.#package;
    const loaded = (await import(/* @vite-ignore */ path)) as Record<string, (options: object) => Provider>;
    return loaded[create]!({ apiKey: "secret", apiToken: "secret", ...options }).video("film");
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const path = String(input instanceof Request ? input.url : input);
    const isStart = init?.method === "POST" && !/video-model\/status|fetchPredictOperation/.test(path);
    if (isStart) this.starts += 1;
    return isStart ? this.#said("started") : this.#answered(this.answer());
  };

  async #answered(answer: StatusAnswer | "pending"): Promise<Response> {
    switch (answer) {
      case "no connection":
        throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
      case "no response in time":
        throw new DOMException("it took too long", "TimeoutError");
      case "502 with HTML":
        return new Response("<html>Bad Gateway</html>", { status: 502, headers: { "content-type": "text/html" } });
      case "503":
      case "401":
      case "404":
      case "429":
        return Response.json({ detail: "not now", error: { message: "not now" } }, { status: Number(answer) });
      default:
        return this.#said(answer);
    }
  }

  #said(answer: keyof Bodies): Response {
    const body = this.#package.bodies[answer];
    const status = this.#package.http?.[answer] ?? 200;
    return Response.json(typeof body === "function" ? body(this.#film) : body, { status });
  }
}

interface Provider {
  video(id: string): VideoModel;
}
