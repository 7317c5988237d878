import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { apiCallError, greyPng, isFull, MockProvider, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { leaksIn, secretForms } from "../../support/secret-forms.ts";

const KEY = "sk-hostile-0123456789abcdefABCDEF";
const ANSWERS = isFull ? 2_000 : 50;

const quoted = fc.constantFrom(...Object.values(secretForms)).map((write) => write(KEY));
const text = fc.oneof(
  quoted,
  fc.string({ maxLength: 30 }),
  fc.constantFrom("../../x", "/etc/passwd", "file:///etc/passwd", "\u001b[2J", "\0", "__proto__", "http://127.0.0.1/x"),
);
const odd: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.constantFrom(null, undefined, 0, -1, Number.NaN, 1e300, true, {}, []),
  fc.dictionary(text, text, { maxKeys: 3 }),
  fc.array(text, { maxLength: 3 }),
);
const image = fc.oneof(odd, fc.uint8Array({ maxLength: 60 }), fc.constant(new Uint8Array(greyPng(8))));
/** Answers of more than was asked, of anything else, and errors that quote the key. */
const answer = fc.oneof(
  fc.record({
    images: fc.oneof(fc.array(image, { maxLength: 60 }), odd),
    warnings: fc.oneof(fc.constant([]), odd),
    providerMetadata: fc.oneof(fc.constant({}), odd),
    response: fc.oneof(fc.constant({ timestamp: new Date(0), modelId: "m", headers: {} }), odd),
  }),
  odd,
);
const thrown = fc.oneof(
  fc
    .tuple(fc.constantFrom(400, 401, 403, 404, 422, 429, 500), text)
    .map(([status, said]) => apiCallError(status, said, {})),
  text.map((said) => new Error(said)),
  odd,
);
const ending = fc.oneof(
  answer.map((is) => ({ is })),
  thrown.map((error) => ({ error })),
);

test(`of ${ANSWERS} hostile answers of a provider none ends the process, is paid twice, or brings a key or a file anywhere [no secrets written]`, async () => {
  await fc.assert(
    fc.asyncProperty(ending, async (end) => {
      let requests = 0;
      const model = {
        ...new MockProvider().image(),
        config: { headers: () => ({ Authorization: `Bearer ${KEY}` }) },
        doGenerate: async () => {
          requests += 1;
          if ("error" in end) throw end.error;
          return end.is as never;
        },
      };
      const show = pipelineOf("still", ({ generate }) => ({
        a: generate("a", model, { prompt: "a still" }, { maxCost: "0.05" }),
      }));
      const world = await openFakeShow();
      const result = await world.run(show, {}, { budget: "1.00" });
      expect(["succeeded", "failed", "partial", "paused"]).toContain(result.status);
      // A refusal that proves that nothing was made is asked again; nothing else is.
      if (!("error" in end)) expect(requests).toBe(1);
      const state = await world.show.show("x");
      const kept = JSON.stringify([await world.journal.read("x"), result, state]);
      expect(leaksIn(kept, KEY)).toEqual([]);
      const { heldMicros, spentMicros } = await world.show.spending();
      expect(heldMicros + spentMicros).toBeLessThanOrEqual(50_000);
      expect((await readdir(dirname(world.outDir))).length).toBeLessThan(10);
    }),
    { numRuns: ANSWERS },
  );
});
