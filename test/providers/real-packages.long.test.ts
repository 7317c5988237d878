import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { StepMethods } from "../../src/define/index.ts";
import { type Pipeline, pipeline, type RunResult } from "../../src/index.ts";
import { greyPng, plainWav } from "../../src/placeholder-media.ts";
import { type Absence, describeNeeding } from "../support/absence.ts";
import { during, openFakeShow } from "../support/fake-showrunner.ts";
import { TINY_MP4 } from "../support/tiny-media.ts";

const PACKAGES = join(import.meta.dirname, "node_modules/@ai-sdk");
const lacksPackages = (): Absence | null =>
  existsSync(PACKAGES)
    ? null
    : { what: "packages of AI SDK", cure: "npm install --prefix test/providers --no-save --no-package-lock" };

type Fetch = typeof fetch;
type Models = Parameters<StepMethods["generate"]>[1];
type Create = (options: object) => { readonly [kind: string]: (id: string) => Models };

const load = async (name: string, create: string): Promise<Create> =>
  ((await import(/* @vite-ignore */ join(PACKAGES, name, "dist/index.js"))) as { [name: string]: Create })[create]!;

/** Speaks the five APIs as their documentation says, on one socket; hosts are the first part of its paths. */
class Providers {
  readonly requests: {
    readonly method: string;
    readonly path: string;
    readonly headers: IncomingMessage["headers"];
  }[] = [];
  /** In place of an answer to the request that asks for work. */
  trouble: number | "cut" | null = null;
  /** In place of the media themselves. */
  mediaStatus = 200;
  origin = "";
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #asked = 0;

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  reset(): void {
    this.requests.length = 0;
    Object.assign(this, { trouble: null, mediaStatus: 200 });
    this.#asked = 0;
  }

  /** Requests that ask for work, and are paid. */
  get works(): number {
    return this.requests.filter(({ method, path }) => method === "POST" && !path.includes("video-model/status")).length;
  }

  readonly fetch: Fetch = (input, init) => {
    const { host, pathname, search } = new URL(input instanceof Request ? input.url : input);
    return fetch(`${this.origin}/${host}${pathname}${search}`, init);
  };

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    this.requests.push({ method, path, headers });
    await text(request);
    const json = (body: object, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const bytes = (type: string, body: Uint8Array) =>
      this.mediaStatus === 200
        ? response.writeHead(200, { "content-type": type }).end(body)
        : json({ detail: "not here" }, this.mediaStatus);
    if (method === "POST" && this.trouble === "cut") return void request.socket.destroy();
    if (method === "POST" && typeof this.trouble === "number") {
      const message = "it cannot be done";
      return void json({ detail: message, message, error: { message, type: "invalid_request_error" } }, this.trouble);
    }
    const png = Buffer.from(greyPng(64)).toString("base64");
    const film = `${this.origin}/media/film.mp4`;
    const isDone = () => ++this.#asked > 1;
    if (path.includes("/media/film")) return void bytes("video/mp4", TINY_MP4);
    if (path.includes("/media/")) return void bytes("image/png", greyPng(64));
    if (path.startsWith("/fal.run/")) return void json({ images: [{ url: "https://fal.run/media/a.png" }] });
    if (path.startsWith("/queue.fal.run/")) {
      if (method === "POST") {
        return void json({ request_id: "r1", response_url: "https://queue.fal.run/fal-ai/kling/requests/r1" });
      }
      return void (isDone()
        ? json({ video: { url: film, content_type: "video/mp4" } })
        : json({ detail: "Request is still in progress" }, 400));
    }
    if (path.includes("/predictions")) {
      const urls = { get: "https://api.replicate.com/v1/predictions/p1" };
      const isFilm = path.includes("film") || method === "GET";
      const prediction = { id: "p1", urls, metrics: {}, error: null, output: null as unknown };
      if (!isFilm)
        return void json({ ...prediction, status: "succeeded", output: ["https://api.replicate.com/media/a.png"] });
      if (method === "POST") return void json({ ...prediction, status: "starting" });
      return void (isDone()
        ? json({ ...prediction, status: "succeeded", output: film })
        : json({ ...prediction, status: "processing" }));
    }
    if (path.endsWith("/images/generations")) return void json({ created: 1, data: [{ b64_json: png }] });
    if (path.endsWith("/audio/speech") || path.includes("text-to-speech")) {
      return void response.writeHead(200, { "content-type": "audio/wav" }).end(plainWav(500));
    }
    const providerMetadata = { gateway: { cost: "0.0123" } };
    if (path.endsWith("/image-model")) return void json({ images: [png], providerMetadata });
    if (path.includes("/video-model/start")) return void json({ operation: { jobId: "j1" }, providerMetadata });
    if (path.includes("/video-model/status")) {
      return void (isDone()
        ? json({ status: "completed", videos: [{ type: "url", url: film, mediaType: "video/mp4" }], providerMetadata })
        : json({ status: "pending" }));
    }
    json({ detail: `nothing at ${path}` }, 404);
  }
}

describeNeeding(lacksPackages())("With the packages of AI SDK's providers,", () => {
  const providers = new Providers();
  const models: { [name: string]: Models } = {};

  beforeAll(async () => {
    await providers.open();
    const given = { apiKey: "secret-of-the-account", apiToken: "secret-of-the-account", fetch: providers.fetch };
    const fal = (await load("fal", "createFal"))(given);
    const replicate = (await load("replicate", "createReplicate"))(given);
    const openai = (await load("openai", "createOpenAI"))(given);
    const elevenlabs = (await load("elevenlabs", "createElevenLabs"))(given);
    const gateway = (await load("gateway", "createGateway"))(given);
    Object.assign(models, {
      "fal image": fal.image!("fal-ai/flux/dev"),
      "fal video": fal.video!("kling"),
      "replicate image": replicate.image!("black-forest-labs/flux-schnell"),
      "replicate video": replicate.video!("makers/film"),
      "openai image": openai.image!("gpt-image-1"),
      "openai speech": openai.speech!("tts-1"),
      "elevenlabs speech": elevenlabs.speech!("eleven_v3"),
      "gateway image": gateway.image!("bfl/flux"),
      "gateway video": gateway.video!("google/veo"),
    });
  });
  beforeEach(() => providers.reset());
  afterAll(() => providers.close());

  const asking = (name: string): Pipeline =>
    pipeline("asking", {
      input: z.object({}),
      build({ generate }) {
        const input = name.endsWith("speech") ? { text: "The boat leaves." } : { prompt: "a red boat" };
        return { made: generate("made", models[name] as never, input as never, { maxCost: "0.50" }) };
      },
    });

  async function ran(name: string): Promise<{ readonly result: RunResult; readonly journal: string }> {
    const world = await openFakeShow({ inside: [providers.origin] });
    const handle = await world.show.run(asking(name), {}, { id: "x", outDir: world.outDir });
    const result = await during(world.clock, handle.result());
    return { result, journal: JSON.stringify(await world.journal.read("x")) };
  }

  test.each([
    ["fal image", "once", "0.50"],
    ["fal video", "found again", "0.50"],
    ["replicate image", "once", "0.50"],
    ["replicate video", "found again", "0.50"],
    ["openai image", "once", "0.50"],
    ["openai speech", "once", "0.50"],
    ["elevenlabs speech", "once", "0.50"],
    ["gateway image", "once", "0.0123"],
    ["gateway video", "keyed", "0.0123"],
  ])("%s: one intent is one request, and its media are here (%s)", async (name, promise, cost) => {
    const { result, journal } = await ran(name);
    expect(result.report.steps[0], journal).toMatchObject({ status: "succeeded", promise });
    expect(result.report.cost).toBe(cost);
    expect(providers.works).toBe(1);
    const keyed = providers.requests.filter(({ headers }) => "idempotency-key" in headers);
    expect(keyed.length > 0).toBe(promise === "keyed");
    expect(journal).not.toContain("secret-of-the-account");
  });

  const names = [
    "fal image",
    "fal video",
    "replicate image",
    "openai image",
    "openai speech",
    "elevenlabs speech",
    "gateway image",
  ];
  test.each(names)("%s: a refusal proves that nothing was made", async (name) => {
    providers.trouble = 422;
    const { result } = await ran(name);
    expect(result).toMatchObject({ status: "failed", report: { cost: "0.00", held: "0.00" } });
    expect(providers.works).toBe(1);
  });

  test.each(
    names.flatMap(
      (name) =>
        [
          [name, 500],
          [name, "cut"],
        ] as const,
    ),
  )("%s: after %s nothing is known, and nothing is sent again", async (name, trouble) => {
    providers.trouble = trouble;
    const { result } = await ran(name);
    expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } });
    expect(providers.works).toBe(1);
  });

  test("fal image: a refused download of what was made is no refusal of the request", async () => {
    providers.mediaStatus = 404;
    const { result } = await ran("fal image");
    expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } });
    expect(providers.works).toBe(1);
  });

  test("gateway video: after a cut it is sent again under the same key", async () => {
    providers.trouble = "cut";
    const world = await openFakeShow({ inside: [providers.origin] });
    const handle = await world.show.run(asking("gateway video"), {}, { id: "x", outDir: world.outDir });
    const over = handle.result();
    while (providers.works === 0) await new Promise((resolve) => setImmediate(resolve));
    providers.trouble = null;
    expect((await during(world.clock, over)).status).toBe("succeeded");
    const keys = new Set(providers.requests.flatMap(({ headers }) => headers["idempotency-key"] ?? []));
    expect([providers.works, keys.size]).toEqual([2, 1]);
  });
});
