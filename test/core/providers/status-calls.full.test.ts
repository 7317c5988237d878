import { createServer } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { VideoModel } from "../../../src/core/plan/kinds/generate.ts";
import { providerOf } from "../../../src/core/providers.ts";
import { describeNeeding } from "../../support/absence.ts";
import { openFakeShow } from "../../support/fake-showrunner.ts";
import { type Listening, listen } from "../../support/listen.ts";
import { pipelineOf } from "../../support/pipelines.ts";
import { TINY_MP4 } from "../../support/tiny-media.ts";
import { lacksPackages } from "./support/providers.ts";
import { AskedPackage, OUTCOMES, PACKAGES_ASKED, STATUS_ANSWERS } from "./support/status-answers.ts";

const AWAY_MS = 60 * 60_000;
const NOT_FAILED = STATUS_ANSWERS.filter((answer) => answer !== "failed");

describeNeeding(lacksPackages())("With the real packages,", () => {
  let films: Listening;
  const filmAt = () => `${films.origin}/film.mp4`;

  beforeAll(async () => {
    films = await listen(createServer((_, response) => void response.end(TINY_MP4)));
  });
  afterAll(() => films.close());
  afterEach(() => vi.unstubAllGlobals());

  describe.each(Object.keys(PACKAGES_ASKED))("a status call of @ai-sdk/%s", (name) => {
    test.each(STATUS_ANSWERS.map((answer, index) => [answer, index] as const))(
      "does with %s what the table says",
      async (answer, index) => {
        const asked = new AskedPackage(name, filmAt());
        const model = await asked.model();
        asked.answer = () => answer;
        const { operation } = await model.doStart!({ prompt: "a boat", n: 1, providerOptions: {} } as never);
        const outcome = await Promise.resolve(model.doStatus!({ operation } as never)).then(
          ({ status }) => status,
          () => "throws",
        );
        expect(outcome).toBe(OUTCOMES[providerOf(model.provider)]![index]);
      },
    );

    async function ran(asked: AskedPackage, model: VideoModel, attempts: number) {
      const world = await openFakeShow({ inside: [films.origin] });
      const boat = pipelineOf("boat", ({ generate }) => ({
        film: generate("film", model as never, { prompt: "a boat" } as never, { maxCost: "0.50", attempts }),
      }));
      const beganAt = world.clock.now();
      const { answer } = asked;
      asked.answer = () => (world.clock.now() - beganAt < AWAY_MS ? answer() : "succeeded");
      return world.run(boat, {}, {}, 5_000);
    }

    test.each(NOT_FAILED)(
      "that is answered with %s for an hour costs no film: one request, and its film is here [G1]",
      async (answer) => {
        const asked = new AskedPackage(name, filmAt());
        asked.answer = () => answer;
        const result = await ran(asked, await asked.model(), 3);
        expect(result, JSON.stringify(result.report.steps)).toMatchObject({ status: "succeeded" });
        expect(asked.starts).toBe(1);
      },
    );

    test("that is answered with the provider's word that its work failed ends it, and says why", async () => {
      const asked = new AskedPackage(name, filmAt());
      asked.answer = () => "failed";
      const result = await ran(asked, await asked.model(), 1);
      expect(result).toMatchObject({ status: "failed", report: { cost: "0.50" } });
      expect(result.report.steps[0]!.reason).toContain("it failed");
    });

    test("is seen below a package that asks by the fetch of the process", async () => {
      const asked = new AskedPackage(name, filmAt());
      const model = await asked.model({});
      vi.stubGlobal("fetch", asked.fetch);
      asked.answer = () => "failed";
      expect(await ran(asked, model, 1)).toMatchObject({ status: "failed" });
    });
  });
});
