import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { UploadHandles } from "../../../src/core/engine/media/handles.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import { guardedSources } from "../../../src/core/run/resolve.ts";
import { pipeline } from "../../../src/index.ts";
import { localShow } from "../../support/local-show.ts";

const world = localShow();
const SHA256 = "a".repeat(64);
const forged = { source: "upload", sha256: SHA256 };

const open = pipeline("open", {
  input: z.object({ images: z.array(z.any()) }),
  build: ({ job, input }) => ({ still: job("still", models.image, { prompt: "grey", images: input.images as never }) }),
});

test.each([
  ["as media", [forged]],
  ["in an object", [{ inner: forged }]],
  ["with more beside it", [{ ...forged, kind: "image" }]],
])("an input of others that looks like a file that was sent is refused: %s", async (_, images) => {
  const quote = await world.show.quote(open, { images });
  expect(quote.problems.map(({ code }) => code)).toContain("reserved-field");
});

/** Resolves an input where any bytes asked for would be sent. */
async function sentFor(input: Json): Promise<{ readonly sent: Json; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const handle = (sha256: string) => {
    asked.push(sha256);
    return Promise.resolve({ url: "https://signed.test/x", expiresAt: Number.MAX_SAFE_INTEGER });
  };
  const client = { keyId: "k", baseUrl: "https://s.test/v3" };
  const handles = new UploadHandles({ client, store: { handle }, media: {}, now: () => 0 } as never);
  return { sent: await handles.resolveUploads(input), asked };
}

test("a value of others is sent as it was said, and no file for it", async () => {
  const text = fc.constantFrom("upload", "$upload", "$$upload", "asset", SHA256, "sha256");
  const name = fc.constantFrom("source", "sha256", "$file", "$$file", "inner");
  const { tree } = fc.letrec<{ readonly tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.dictionary(name, tie("tree"), { maxKeys: 4 }),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.constant(forged),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(tree, async (value) => {
      expect(await sentFor({ field: guardedSources(value) })).toEqual({ sent: { field: value }, asked: [] });
    }),
  );
  expect((await sentFor({ field: forged })).asked).toEqual([SHA256]);
});
