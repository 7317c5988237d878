import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { apiCallError, MockProvider, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { leaksIn, providerKeys, secretForms } from "../../support/secret-forms.ts";

/** Where a model holds its key, and where its program has it from. */
const HOLDERS: Readonly<Record<string, (key: string) => object>> = {
  "headers of its configuration": (key) => ({ config: { headers: { Authorization: `Key ${key}` } } }),
  "a function that gives headers": (key) => ({ config: { headers: () => ({ "xi-api-key": key }) } }),
  "a promise of headers": (key) => ({ config: { headers: async () => ({ "x-custom": key }) } }),
  "a field": (key) => ({ settings: { apiKey: key } }),
  "an address": (key) => ({ config: { baseURL: `https://user:${encodeURIComponent(key)}@api.example.com/v1` } }),
  "the environment": (key) => {
    process.env.SHOWRUNNER_TEST_PROVIDER_KEY = key;
    return {};
  },
};

beforeEach(() => void delete process.env.SHOWRUNNER_TEST_PROVIDER_KEY);
afterEach(() => void delete process.env.SHOWRUNNER_TEST_PROVIDER_KEY);

test.each(Object.keys(HOLDERS))(
  "a key that a model has in %s is in no text of its provider that is kept [no secrets written]",
  async (holder) => {
    for (const [form, key] of Object.entries(providerKeys)) {
      const unique = key.replace(/.$/, String(Object.keys(HOLDERS).indexOf(holder)));
      const secret = unique.slice(unique.indexOf(":") + 1);
      const quoted = Object.values(secretForms).map((write) => write(unique));
      const error = apiCallError(401, `no access for ${quoted.join(" ")}`, { prompt: "a still" });
      const provider = new MockProvider("mock", [{ throws: error }]);
      const model = { ...provider.image(), ...HOLDERS[holder]!(unique) };
      const show = pipelineOf("still", ({ generate }) => ({
        a: generate("a", model, { prompt: "a still" }, { maxCost: "0.05" }),
      }));
      const world = await openFakeShow();
      const result = await world.run(show, {}, { budget: "1.00" });
      expect(result.status).toBe("failed");
      const kept = JSON.stringify(await world.journal.read("x")) + JSON.stringify(result);
      expect(kept, form).toContain("no access for");
      expect(leaksIn(kept, secret), `${form} in ${holder}`).toEqual([]);
    }
  },
);

test("a model is looked at for its key when its work ends or cannot be asked for, not with each question while it is pending", async () => {
  const provider = new MockProvider();
  provider.pending = 20;
  const headers = vi.fn(() => ({ Authorization: "Key plainKeyOfAnyProvider77" }));
  const model = { ...provider.startingVideo(), settings: { headers } };
  const show = pipelineOf("film", ({ generate }) => ({
    a: generate("a", model, { prompt: "a film" }, { maxCost: "0.05" }),
  }));
  const world = await openFakeShow();
  const result = await world.run(show, {}, { budget: "1.00" }, 5_000);
  expect(result.status).toBe("succeeded");
  expect(provider.asked).toBeGreaterThan(10);
  // Before it is sent, and at its end.
  expect(headers).toHaveBeenCalledTimes(2);
});

test("a key within an operation is in no journal, and its provider is asked with the whole operation [secrets in operations]", async () => {
  for (const [form, key] of Object.entries(providerKeys)) {
    const provider = new MockProvider();
    provider.pending = 2;
    const inner = provider.startingVideo();
    const asked: unknown[] = [];
    const poll = { headers: [`Key ${key}`], url: `https://x/?k=${key}` };
    const model = {
      ...inner,
      config: { headers: () => ({ Authorization: `Key ${key}` }) },
      async doStart(options: never) {
        const { operation, ...rest } = await inner.doStart!(options);
        return { ...rest, operation: { ...(operation as object), poll } };
      },
      async doStatus(options: { readonly operation: unknown }) {
        asked.push(options.operation);
        return inner.doStatus!(options as never);
      },
    };
    const show = pipelineOf("film", ({ generate }) => ({
      a: generate("a", model as never, { prompt: "a film" }, { maxCost: "0.05" }),
    }));
    const world = await openFakeShow();
    const result = await world.run(show, {}, { budget: "1.00" });
    expect(result.status, form).toBe("succeeded");
    const kept = JSON.stringify([await world.journal.read("x"), result, await world.show.show("x")]);
    expect(leaksIn(kept, key.slice(key.indexOf(":") + 1)), form).toEqual([]);
    expect(asked.length).toBeGreaterThan(2);
    for (const operation of asked) expect(operation).toMatchObject({ poll });
  }
});
