import { describe, expect, test } from "vitest";
import { described } from "../../../src/core/catalog/catalog.ts";
import { catalogOf, diffCatalogs, generateModels } from "../../../src/core/catalog/index.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import { stepForm } from "../../../src/studio/dashboard/views/input-form.ts";
import { typeCheck } from "../../support/type-check.ts";

const listed = { type: "string", enum: ["en", "de"] };
/** Every way in which a text with suggestions may be published. */
const forms: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  "an enum and any string": { anyOf: [listed, { type: "string" }] },
  "with a type beside it": { type: "string", anyOf: [listed, { type: "string" }] },
  "any string first": { anyOf: [{ type: "string" }, { enum: ["en", "de"] }] },
  "null as well": { anyOf: [listed, { type: "string" }, { type: "null" }] },
};

const speech = (language: Json, id = "speech-2.5") =>
  described({
    ...{ id, modality: "audio", name: null, description: null, priceDescription: null, outputSchema: null },
    inputSchema: {
      ...{ type: "object", additionalProperties: false, required: ["text"] },
      properties: { text: { type: "string" }, language },
    },
  });

describe.each(Object.entries(forms))("a text with suggestions as %s", (name, form) => {
  const model = speech(form);
  const problems = (language: Json) => catalogOf([model]).check(model, { text: "x", language });

  test("takes every text and nothing else", () => {
    for (const language of ["en", "tlh", ""]) expect(problems(language)).toEqual([]);
    expect(problems(7)).not.toEqual([]);
    expect(problems(null).length > 0).toBe(!name.startsWith("null"));
  });

  test("is offered in forms with its suggestions, as a text that may be another", () => {
    const { fields } = stepForm(model.inputSchema, { text: "x" }, ["text"]);
    const control = { type: "text", minLength: 0, maxLength: null, suggested: ["en", "de"] };
    expect(fields).toContainEqual(expect.objectContaining({ name: "language", control }));
  });

  test("has a type that suggests", () => {
    expect(generateModels(catalogOf([model]))).toMatch(/language\?: OrValue<"en" \| "de" \| \(string & \{\}\)/);
  });
});

test("voices that are suggested beside any other are voices, so that a clone's is taken; of a closed list they are a choice", () => {
  const typeOf = (voice_id: Json) => {
    const { inputSchema, ...model } = speech(true);
    const { properties, ...rest } = inputSchema as { readonly properties: object };
    const input = { ...rest, properties: { ...properties, voice_id } };
    return /voice_id\?: (.*);/.exec(generateModels(catalogOf([described({ ...model, inputSchema: input })])))?.[1];
  };
  for (const form of Object.values(forms)) expect(typeOf(form)).toBe("Voice");
  expect(typeOf(listed)).toBe('OrValue<"en" | "de">');
});

test("the generated types take a listed text, another text and a value of a step, and no number", async () => {
  const source = generateModels(catalogOf([speech(forms["an enum and any string"]!)]));
  const use = (language: string) =>
    `import { models } from "./models.ts"; import { pipeline } from "showrunner"; import { z } from "zod";
     pipeline("p", { input: z.object({ word: z.string() }), build: ({ job }) => ({ a: job("a", models.speech25, { text: "x", language: ${language} }) }) });`;
  const files = { "models.ts": source, "good.ts": use('"en"'), "other.ts": use('"tlh"'), "bad.ts": use("7") };
  const said = await typeCheck(files);
  expect(said).toMatch(/^bad\.ts/);
  expect(said).not.toMatch(/(good|other|models)\.ts\(/);
});

test("values that are suggested no more, or anew, break nothing", () => {
  const [before, after] = [
    ["en", "de"],
    ["en", "fr"],
  ].map((values) => speech({ anyOf: [{ type: "string", enum: values }, { type: "string" }] }));
  expect(diffCatalogs(catalogOf([before!]), catalogOf([after!])).filter(({ isBreaking }) => isBreaking)).toEqual([]);
});
