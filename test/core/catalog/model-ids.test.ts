import fc from "fast-check";
import { expect, test } from "vitest";
import { createClient } from "../../../src/core/api/index.ts";
import { described } from "../../../src/core/catalog/catalog.ts";
import { typedInputs } from "../../../src/core/catalog/fetch.ts";
import { catalogOf, generateModels, parseSnapshot, snapshotText } from "../../../src/core/catalog/index.ts";
import { AnsweringService, ORIGIN } from "../../support/answering-service.ts";

/** `gpt-image-2.5-flare`, `zai-org/glm-5.3`, and whatever else of such characters. */
const part = fc.stringMatching(/^[A-Za-z0-9][\w.~:+-]{0,12}$/);
const ids = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const some = fc.uniqueArray(ids, { minLength: 1, maxLength: 6, selector: (id) => id.toLowerCase() });
const schema = { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] };
const model = (id: string) =>
  described({
    ...{ id, modality: "image", name: null, description: null, priceDescription: null },
    ...{ inputSchema: schema, outputSchema: null },
  });

test("every request on a model names it in one segment of its address, whatever is in its id", async () => {
  const asked: string[] = [];
  class Recording extends AnsweringService {
    override dispatch(...[options, handler]: Parameters<AnsweringService["dispatch"]>): boolean {
      asked.push(options.path);
      return super.dispatch(options, handler);
    }
  }
  const dispatcher = new Recording();
  const client = createClient({ baseUrl: `${ORIGIN}/v3`, apiKey: "k:s", dispatcher, retry: { maxAttempts: 1 } });
  await fc.assert(
    fc.asyncProperty(ids, async (id) => {
      asked.length = 0;
      const calls = [
        client.model(id),
        client.modelOpenapi(id),
        client.modelJobs(id).page(),
        client.voices(id).page(),
        client.estimate({ model: id, input: {} }),
        client.submit({ model: id, input: {}, idempotencyKey: "k" }),
      ];
      await Promise.allSettled(calls);
      const parts = asked.map((path) => path.split("?")[0]!.split("/").slice(1));
      expect(
        parts.map(([v3, models, name, ...rest]) => [v3, models, decodeURIComponent(name!), ...rest]).sort(),
      ).toEqual(
        [[], ["openapi.json"], ["jobs"], ["voices"], ["estimate"], []]
          .map((rest) => ["v3", "models", id, ...rest])
          .sort(),
      );
    }),
  );
  await client.close();
});

test("generated code names every model once and by its own id, a snapshot brings each back, a document is read by its id", () => {
  fc.assert(
    fc.property(some, (all) => {
      const catalog = catalogOf(all.map(model));
      const source = generateModels(catalog);
      const names = [...source.matchAll(/^ {2}(\S+): model</gm)].map(([, name]) => name!);
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
      for (const id of all) expect(source).toContain(JSON.stringify(id));
      expect(names).toHaveLength(all.length);
      for (const name of names) expect(name).toMatch(/^[A-Za-z_$][\w$]*$/);
      expect(
        parseSnapshot(snapshotText(catalog))
          .models()
          .map(({ id }) => id)
          .sort(),
      ).toEqual([...all].sort());
      const content = { "application/json": { schema: { properties: { input: schema } } } };
      const paths = all.map((id) => [`/models/${encodeURIComponent(id)}`, { post: { requestBody: { content } } }]);
      expect([...typedInputs({ paths: Object.fromEntries(paths) }).keys()].sort()).toEqual([...all].sort());
    }),
  );
});
