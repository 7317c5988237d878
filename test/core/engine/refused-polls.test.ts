import { expect, test } from "vitest";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import type { Pipeline } from "../../../src/index.ts";
import { apiCallError, MockProvider, openFakeShow, pipelineOf } from "../../support/engine.ts";

const LONG = "a red boat leaves the harbour at nine";
const base64 = Buffer.from(greyPng(64)).toString("base64");
/** As Vertex AI: its model starts the work and polls in one call, and a poll's body names the operation. */
const poll = { operationName: "projects/p/models/veo/operations/1", action: "status" };

/** A film by a model that answers once its work is done, of a still or of words. */
function film(provider: MockProvider, prompt: string | null, starts = false): Pipeline {
  return pipelineOf("film", ({ generate }) => {
    const model = starts ? provider.startingVideo() : provider.video();
    if (prompt !== null) return { film: generate("film", model, { prompt }, { maxCost: "0.50" }) };
    const still = generate("still", new MockProvider().image(), { prompt: "x" }, { maxCost: "0.05" });
    return { film: generate("film", model, { image: still }, { maxCost: "0.50" }) };
  });
}

async function ran(of: Pipeline) {
  return (await openFakeShow()).run(of);
}

test.each([
  ["of a film without words", null, poll],
  ["that has the words in a name", "operation", poll],
  ["that has the words as its state", "status", poll],
  ["that has them in a longer field", "veo", { prompt: "models/veo/1" }],
  ["whose body is empty", LONG, {}],
] as const)("a poll %s proves nothing: what was accepted is not sent again", async (_, prompt, body) => {
  for (const status of [429, 400, 404]) {
    const throws = apiCallError(status, "refused", body);
    const provider = new MockProvider("vertex", [{ throws, made: true }, "made"]);
    expect(await ran(film(provider, prompt))).toMatchObject({
      status: "paused",
      pause: { reason: "unresolved" },
      report: { held: "0.50" },
    });
    expect(provider.made).toBe(1);
  }
});

test.each([
  ["has its words", "boat", { instances: [{ prompt: "boat" }] }, false],
  ["has its long words within others", LONG, { contents: [`${LONG}, as a film`] }, false],
  ["has its still", null, { instances: [{ image: { bytesBase64Encoded: base64 } }] }, false],
  ["has its still as an address", null, { image_url: `data:image/png;base64,${base64}` }, false],
  ["only starts work", null, { image: "https://example.com/still.png" }, true],
] as const)("a request that %s and is refused made nothing, and is sent again", async (_, prompt, body, starts) => {
  const provider = new MockProvider("mock", [{ throws: apiCallError(429, "slow down", body) }, "made"]);
  expect(await ran(film(provider, prompt, starts))).toMatchObject({ status: "succeeded", report: { held: "0.00" } });
  expect([provider.requests.length, provider.made]).toEqual([2, 1]);
});

test("that a value is of another type may be said of an answer as well", async () => {
  const throws = Object.assign(new Error("Type validation failed"), { name: "AI_TypeValidationError", value: {} });
  const provider = new MockProvider("mock", [{ throws, made: true }]);
  expect(await ran(film(provider, LONG))).toMatchObject({ status: "paused", report: { held: "0.50" } });
});
