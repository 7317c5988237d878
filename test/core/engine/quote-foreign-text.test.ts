import { expect, test } from "vitest";
import { apiError, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const picture = pipelineOf("picture", ({ job }) => ({ face: job("face", models.image, { prompt: "a lamp" }) }));

const HOSTILE = "\u001b[2Jsee https://s3.test/a?sig=hidden";
const CLEAN = "\ufffd[2Jsee https://s3.test/a";

test.each([
  ["in one sentence", { message: HOSTILE, param: HOSTILE }, { code: "refused" }],
  [
    "field by field",
    { details: [{ field: HOSTILE, message: HOSTILE, reason: HOSTILE, allowed: null }] },
    { code: CLEAN },
  ],
])(
  "a refused quote tells what the service says %s without what steers a terminal and without queries",
  async (_, said, told) => {
    const refuse = () => {
      throw apiError(400, "INVALID_ARGUMENT", said);
    };
    const world = await openFakeShow({ priceMicros: refuse });
    const { problems, prices } = await world.show.quote(picture, {});
    expect(problems).toEqual([{ ...told, step: "face", field: CLEAN, message: expect.stringContaining(CLEAN) }]);
    expect(JSON.stringify([problems, prices])).not.toMatch(/u001b|hidden/);
  },
);
