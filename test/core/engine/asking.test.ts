import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { askStatus } from "../../../src/core/engine/generate/ask-status.ts";
import type { VideoModel } from "../../../src/core/plan/kinds/generate.ts";
import type { Pipeline } from "../../../src/index.ts";
import { during, type FakeShow, openFakeShow, pipelineOf, settle, TINY_MP4 } from "../../support/engine.ts";

type Reply = () => Response | Promise<Response>;

const film = () => Response.json({ video: { bytes: Buffer.from(TINY_MP4).toString("base64") } });
const html = () => new Response("<html>Bad Gateway</html>", { status: 502 });
const refused = () => {
  throw new TypeError("fetch failed");
};

/** A package that calls every failure of its status request an error of the work. */
class HidingModel {
  readonly specificationVersion = "v4";
  readonly provider: string;
  readonly modelId = "film";
  readonly maxVideosPerCall = 1;
  readonly config: { readonly fetch?: typeof fetch };
  starts = 0;
  asked = 0;
  reply: Reply;

  constructor(provider: string, reply: Reply, config?: object) {
    this.provider = provider;
    this.reply = reply;
    this.config = config ?? { fetch: async () => this.reply() };
  }

  async doStart() {
    this.starts += 1;
    return { operation: { url: "https://queue.test/r1", submitUrl: "https://queue.test/film" } };
  }

  async doStatus({ operation }: { readonly operation: { readonly url: string } }) {
    this.asked += 1;
    try {
      const response = await (this.config.fetch ?? globalThis.fetch)(operation.url);
      const said = (await response.json()) as {
        readonly video?: { readonly bytes: string };
        readonly detail?: unknown;
      };
      if (said.detail === "Request is still in progress") return { status: "pending" };
      if (!response.ok) return { status: "error", error: response.statusText };
      const data = said.video!.bytes;
      return { status: "completed", videos: [{ type: "base64", data, mediaType: "video/mp4" }] };
    } catch (error) {
      return { status: "error", error: String(error) };
    }
  }
}

const asModel = (model: object) => model as unknown as VideoModel;

function boat(model: object, attempts = 3): Pipeline {
  return pipelineOf("boat", ({ generate }) => ({
    film: generate("film", asModel(model) as never, { prompt: "a boat" } as never, { maxCost: "0.50", attempts }),
  }));
}

const ran = (world: FakeShow, of: Pipeline) => world.run(of, {}, {}, 5_000);
const started = ({ show, outDir }: FakeShow, of: Pipeline) => show.run(of, {}, { id: "x", outDir });

/** Until then everything is as it was; afterwards the film is there. */
function afterMs(world: FakeShow, ms: number, before: Reply): Reply {
  const beganAt = world.clock.now();
  return () => (world.clock.now() - beganAt < ms ? before() : film());
}

const WHILE_MS = 10 * 60_000;

describe("A question that fails is no failure of the work", () => {
  test.each([
    ["503", () => Response.json({ detail: "busy" }, { status: 503 })],
    ["401", () => Response.json({ detail: "who are you" }, { status: 401 })],
    ["404", () => Response.json({ detail: "no such request" }, { status: 404 })],
    ["502 with HTML", html],
    ["no connection", refused],
  ] as const)("where the package calls it one (%s for a while): one request, and its film [G1]", async (_, reply) => {
    for (const provider of ["fal.video", "acme.video"]) {
      const world = await openFakeShow();
      const model = new HidingModel(provider, film);
      model.reply = afterMs(world, WHILE_MS, reply);
      expect(await ran(world, boat(model))).toMatchObject({ status: "succeeded", report: { cost: "0.50" } });
      expect(model.starts).toBe(1);
    }
  });

  test("and where its answer cannot be seen, an error of such a package is asked again", async () => {
    const world = await openFakeShow();
    const inner = new HidingModel("fal.video", film);
    inner.reply = afterMs(world, WHILE_MS, html);
    const { provider, modelId, specificationVersion, maxVideosPerCall } = inner;
    const wrapped = {
      ...{ provider, modelId, specificationVersion, maxVideosPerCall },
      doStart: () => inner.doStart(),
      doStatus: (options: never) => inner.doStatus(options),
    };
    expect(await ran(world, boat(wrapped))).toMatchObject({ status: "succeeded" });
    expect(inner.starts).toBe(1);
  });

  test("one that never ends is left to a person after a day, with its hold", async () => {
    const world = await openFakeShow();
    const model = new HidingModel("fal.video", html);
    const from = world.clock.now();
    const handle = await started(world, boat(model));
    for (const hours of [1, 22]) {
      await world.clock.advance(10 * 60_000);
      world.clock.suspend(hours * 3_600_000);
    }
    await world.clock.advance(10 * 60_000);
    expect(await world.journal.run("x")).toMatchObject({ status: "running" });
    const result = await during(world.clock, handle.result(), 600_000);
    expect(world.clock.now() - from).toBeGreaterThan(24 * 3_600_000);
    expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } });
    expect(model.starts).toBe(1);
  });

  test.each([
    ["of the model", { detail: [{ loc: ["body"], msg: "the picture is too small", type: "image_too_small" }] }],
    ["of the queue", { detail: "the runner is gone", error_type: "runner_disconnected" }],
  ])("an error that the provider declares (%s) ends the work, and says why", async (_, body) => {
    const world = await openFakeShow();
    const model = new HidingModel("fal.video", () => Response.json(body, { status: 422 }));
    const result = await ran(world, boat(model, 1));
    expect(result).toMatchObject({ status: "failed", report: { cost: "0.50", held: "0.00" } });
    const said = Array.isArray(body.detail) ? "the picture is too small" : "the runner is gone";
    expect(result.report.steps[0]!.reason).toContain(said);
  });
});

describe("A status call", () => {
  afterEach(() => vi.unstubAllGlobals());
  const { signal } = new AbortController();
  const request = (url: string) => ({ operation: { url, submitUrl: "https://queue.test/film" }, abortSignal: signal });

  test("is seen below the package, whose model stays as it is", async () => {
    const model = new HidingModel("fal.video", html);
    const { config } = model;
    const { answer, reply } = await askStatus(asModel(model), request("https://queue.test/r1"));
    expect([answer.status, reply]).toEqual(["error", { httpStatus: 502, body: undefined }]);
    expect([model.config, model.asked]).toEqual([config, 1]);
  });

  test("of a model that nothing can be seen of is asked once, as it is", async () => {
    const doStatus = vi.fn(async () => ({ status: "pending" }));
    const { reply } = await askStatus(asModel({ doStatus }), request("https://queue.test/r1"));
    expect([reply, doStatus.mock.calls.length]).toEqual([null, 1]);
  });

  test("of a model with private fields is asked as it is", async () => {
    class Private {
      readonly #word = "pending";
      readonly config = {};
      async doStatus() {
        return { status: this.#word };
      }
    }
    const { answer, reply } = await askStatus(asModel(new Private()), request("https://queue.test/r1"));
    expect([answer.status, reply]).toEqual(["pending", null]);
  });

  test("that leads to another origin goes by the package's own fetch alone, which guards it", async () => {
    const seen: string[] = [];
    vi.stubGlobal("fetch", async (url: string) => {
      seen.push(url);
      return film();
    });
    const guarded: string[] = [];
    class Guarding extends HidingModel {
      override async doStatus({ operation: { url } }: { readonly operation: { readonly url: string } }) {
        const given = this.config.fetch;
        if (given !== undefined) await given(url);
        else guarded.push(url);
        return { status: "pending" };
      }
    }
    const model = asModel(new Guarding("fal.video", film, {}));
    expect(await askStatus(model, request("https://elsewhere.test/r1"))).toMatchObject({ reply: null });
    expect([seen, guarded]).toEqual([[], ["https://elsewhere.test/r1"]]);
  });

  test("that is not answered ends with its time, whatever the package does", async () => {
    const ends = new AbortController();
    const model = new HidingModel("fal.video", () => new Promise<Response>(() => {}));
    const asked = askStatus(asModel(model), { operation: { url: "https://queue.test/r1" }, abortSignal: ends.signal });
    ends.abort(new Error("two minutes are over"));
    await expect(asked).rejects.toThrow("two minutes are over");
  });

  test("whose answer carries a film has no body that is read as a status", async () => {
    const long = () => Response.json({ video: { bytes: "A".repeat(2_000_000) } });
    const model = asModel(new HidingModel("fal.video", long));
    const { answer, reply } = await askStatus(model, request("https://queue.test/r1"));
    expect([answer.status, reply]).toEqual(["completed", { httpStatus: 200, body: undefined }]);
  });
});

describe("A status that can never be read", () => {
  const unread = () => Response.json({ video: null });

  async function passing({ clock }: FakeShow, seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) {
      await settle();
      await clock.advance(1_000);
    }
  }

  /** Asked for a while, then stopped. */
  async function stopped(minutes: number) {
    const world = await openFakeShow();
    const model = new HidingModel("fal.video", unread);
    const handle = await started(world, boat(model));
    await passing(world, minutes * 60);
    await world.show.stop("x");
    const result = await during(world.clock, handle.result());
    return { world, model, result };
  }

  const resumed = async (world: FakeShow, model: object) => world.resume({ pipeline: boat(model) });

  test("is ended by a person, after several answers: with the film", async () => {
    const { world, model, result } = await stopped(3);
    expect(result.report.steps[0]!.reason).toContain("the status could not be read");
    expect(result.report.next).toMatchObject({ note: expect.stringContaining("showrunner adopt x film") });
    expect((await world.show.unresolved("x")).map(({ step, provider }) => [step, provider])).toEqual([["film", "fal"]]);
    const file = join(world.outDir, "given.mp4");
    await mkdir(world.outDir, { recursive: true });
    await writeFile(file, TINY_MP4);
    await world.show.adopt("x", "film", file);
    expect(await resumed(world, model)).toMatchObject({ status: "succeeded", report: { cost: "0.50", held: "0.00" } });
    expect(model.starts).toBe(1);
  });

  test("or with the word that it made nothing", async () => {
    const { world, model } = await stopped(3);
    await world.show.adopt("x", "film", null);
    expect(await resumed(world, model)).toMatchObject({ status: "failed", report: { cost: "0.00", held: "0.00" } });
    expect(model.starts).toBe(1);
  });

  test("while the run goes on, too", async () => {
    const world = await openFakeShow();
    const model = new HidingModel("fal.video", unread);
    const handle = await started(world, boat(model));
    await passing(world, 180);
    await world.show.adopt("x", "film", null);
    expect(await during(world.clock, handle.result())).toMatchObject({ status: "failed", report: { held: "0.00" } });
  });

  test("and not after a first one: what is asked may be answered yet", async () => {
    const { world, model } = await stopped(0);
    await expect(world.show.adopt("x", "film", null)).rejects.toThrow("film is running, not unresolved");
    model.reply = film;
    expect(await resumed(world, model)).toMatchObject({ status: "succeeded" });
  });

  test("and no longer once the provider says that the work is under way", async () => {
    const { world, model } = await stopped(3);
    model.reply = () => Response.json({ detail: "Request is still in progress" }, { status: 400 });
    const handle = await world.show.resume("x", { pipeline: boat(model) });
    await passing(world, 90);
    await expect(world.show.adopt("x", "film", null)).rejects.toThrow("film is running, not unresolved");
    model.reply = film;
    expect(await during(world.clock, handle.result())).toMatchObject({ status: "succeeded" });
  });
});
