import { test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { fieldsOf, type Model, pipeline, swap } from "../../../src/index.ts";

declare const fastFilm: Model<{ readonly prompt: string; readonly seconds: 2 | 4 }, "video", 1>;

test("a model gives way to one that makes the same", () => {
  swap(models.video, fastFilm);
  // @ts-expect-error a film where an image was made
  swap(models.image, fastFilm);
  // @ts-expect-error a voice where speech was made
  swap(models.speech, models.voiceClone);
});

test("fields are those of the model, with values that they take", () => {
  fieldsOf(models.video, { duration_ms: 3000, resolution: "720p", cfg_scale: undefined });
  fieldsOf(fastFilm, { seconds: 2 });
  // @ts-expect-error misspelt
  fieldsOf(models.video, { duraton_ms: 3000 });
  // @ts-expect-error no such level
  fieldsOf(models.video, { resolution: "8K" });
  // @ts-expect-error another model's field
  fieldsOf(fastFilm, { duration_ms: 3000 });
});

test("a profile holds both, and what changes in single steps", () => {
  pipeline("p", {
    input: z.object({}),
    profiles: {
      draft: {
        models: { ...swap(models.video, fastFilm) },
        fields: { ...fieldsOf(fastFilm, { seconds: 2 }), "other-1": { anything: [1] } },
        steps: { "scene-*": { model: fastFilm, fields: { seed: 1, negative_prompt: undefined } } },
        service: "local",
      },
    },
    build: () => ({}),
  });
  pipeline("p", {
    input: z.object({}),
    // @ts-expect-error no part of a profile
    profiles: { draft: { field: {} } },
    build: () => ({}),
  });
});
