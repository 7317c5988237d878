import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { greyPng, plainWav } from "../../../src/core/kit/placeholder-media.ts";
import type { Pipeline } from "../../../src/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { openFakeShow } from "../../support/fake-showrunner.ts";
import { pipelineOf } from "../../support/pipelines.ts";
import { type Model, realModels } from "./support/models.ts";
import { lacksPackages, Providers, type Trouble } from "./support/providers.ts";

/** Each package, each kind of media that it offers, what is promised of it, and what its answer says of the cost. */
const OFFERED = [
  ["fal image", "once", "0.50"],
  ["fal video", "found again", "0.50"],
  ["fal speech", "once", "0.50"],
  ["replicate image", "once", "0.50"],
  ["replicate video", "found again", "0.50"],
  ["openai image", "once", "0.50"],
  ["openai speech", "once", "0.50"],
  ["elevenlabs speech", "once", "0.50"],
  ["gateway image", "once", "0.0123"],
  ["gateway video", "keyed", "0.0123"],
  ["gateway speech", "once", "0.0123"],
] as const;
type Name = (typeof OFFERED)[number][0];

const FLAGGED = "flagged by a content checker";
/** How each provider refuses what it finds indecent. */
const MODERATED: Readonly<Record<string, { readonly status: number; readonly body: object }>> = {
  fal: { status: 422, body: { detail: [{ loc: ["body", "prompt"], msg: FLAGGED, type: "content_policy_violation" }] } },
  replicate: { status: 422, body: { title: "Input", detail: FLAGGED, status: 422 } },
  openai: {
    status: 400,
    body: { error: { message: FLAGGED, type: "image_generation_user_error", code: "moderation_blocked" } },
  },
  elevenlabs: { status: 400, body: { error: { message: FLAGGED, code: 400 } } },
  gateway: { status: 400, body: { error: { message: FLAGGED, type: "invalid_request_error" } } },
};

describeNeeding(lacksPackages())("With the packages of AI SDK's providers,", () => {
  const providers = new Providers();
  let models: { readonly [name: string]: Model } = {};

  beforeAll(async () => {
    await providers.open();
    models = await realModels(providers);
  });
  beforeEach(() => providers.reset());
  afterAll(() => providers.close());

  const asking = (name: Name): Pipeline =>
    pipelineOf("asking", ({ generate }) => {
      const input = name.endsWith("speech") ? { text: "The boat leaves." } : { prompt: "a red boat" };
      return { made: generate("made", models[name] as never, input as never, { maxCost: "0.50" }) };
    });

  async function ran(name: Name) {
    const world = await openFakeShow({ inside: [providers.origin] });
    const beganAt = world.clock.now();
    const result = await world.run(asking(name));
    const ms = world.clock.now() - beganAt;
    return { result, journal: JSON.stringify(await world.journal.read("x")), ms };
  }

  /** Trouble for the first requests that ask for work. */
  function troubled(times: number, trouble: Trouble): void {
    providers.trouble = (_, asks) => (asks === "work" && times-- > 0 ? trouble : null);
  }

  const isFilm = (name: Name) => name.endsWith("video");
  const isKeyed = (name: Name) => name === "gateway video";
  const unresolved = { status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } };
  const nothingSpent = { report: { cost: "0.00", held: "0.00" } };

  describe.each(OFFERED)("%s:", (name, promise, cost) => {
    test(`one intent is one request, and its media are here (${promise}) [G1]`, async () => {
      const { result, journal } = await ran(name);
      expect(result.report.steps[0], journal).toMatchObject({ status: "succeeded", promise });
      expect(result.report.cost).toBe(cost);
      expect([providers.asked.length, providers.works.length]).toEqual([1, 1]);
      expect("idempotency-key" in providers.asked[0]!.headers).toBe(promise === "keyed");
      expect(journal).not.toContain("secret-of-the-account");
    });

    test("a refusal proves that nothing was made", async () => {
      troubled(1, { status: 422 });
      const { result } = await ran(name);
      expect(result).toMatchObject({ status: "failed", ...nothingSpent });
      expect([providers.asked.length, providers.works.length]).toEqual([1, 0]);
    });

    test("a refusal by moderation says so, costs nothing, and is not sent again", async () => {
      troubled(1, MODERATED[name.split(" ")[0]!]!);
      const { result } = await ran(name);
      expect(result, JSON.stringify(result.report.steps)).toMatchObject({ status: "failed", ...nothingSpent });
      expect(result.report.steps[0]!.reason).toContain(FLAGGED);
      expect(providers.asked).toHaveLength(1);
    });

    test("429 is asked again when its Retry-After is over, each time under an intent of its own, and made once", async () => {
      troubled(2, { status: 429, headers: { "retry-after": "90" } });
      const { result, ms } = await ran(name);
      expect(ms).toBeGreaterThanOrEqual(180_000);
      expect(result).toMatchObject({ status: "succeeded", report: { cost, held: "0.00" } });
      expect(result.report.steps[0]!.attempts).toHaveLength(3);
      expect([providers.asked.length, providers.works.length]).toEqual([3, 1]);
    });

    test.each(["cut before", "cut after", { status: 500 }, { status: 503 }] as const)(
      `after %j nothing is known, and it is ${promise === "keyed" ? "sent again under its key" : "unresolved"}`,
      async (trouble) => {
        troubled(1, trouble);
        const { result } = await ran(name);
        const keys = new Set(providers.asked.flatMap(({ headers }) => headers["idempotency-key"] ?? []));
        if (isKeyed(name)) {
          expect(result).toMatchObject({ status: "succeeded", report: { cost, held: "0.00" } });
          expect([providers.asked.length, providers.works.length, keys.size]).toEqual([2, 1, 1]);
        } else {
          expect(result).toMatchObject(unresolved);
          expect([providers.asked.length, keys.size]).toEqual([1, 0]);
          expect(providers.works).toHaveLength(trouble === "cut after" ? 1 : 0);
        }
      },
    );

    const wrong = isFilm(name) ? "asked for again, then left to a person with its hold" : "no output, and charged";
    test(`media of another type are ${wrong}; nothing is made anew`, async () => {
      providers.media = name.endsWith("image") ? plainWav(500) : greyPng(64);
      const { result } = await ran(name);
      const charged = { status: "failed", report: { cost, held: "0.00" } };
      expect(result).toMatchObject(isFilm(name) ? unresolved : charged);
      const expected = isFilm(name)
        ? /URL is not the expected video/
        : /the output is not the expected (?:image|audio)/;
      expect(JSON.stringify(result)).toMatch(expected);
      expect([providers.asked.length, providers.works.length]).toEqual([1, 1]);
    });
  });
});
