import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { expect, test } from "vitest";
import type { LocalService } from "../../../src/local-service/index.ts";
import { PICTURE, SOUND } from "../../../src/local-service/start.ts";
import { ask, type Body, get, made, start, uploaded } from "../support/service.ts";

/* What a model's entry says, held against what its jobs take and give. */

const VOICE = "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01";

async function inputs(service: LocalService): Promise<Readonly<Record<string, object>>> {
  const [image, audio] = [await uploaded(service, PICTURE.bytes), await uploaded(service, SOUND.bytes)];
  return {
    "image-1": { prompt: "a cat", num_outputs: 2 },
    "video-1": { prompt: "a cat", aspect_ratio: "9:16", duration_ms: 3000 },
    "avatar-1": { start_image: image, audio, prompt: "talks", aspect_ratio: "9:16", resolution: "720p" },
    "speech-1": { text: "Hello.", voice_id: VOICE },
    "voice-clone-1": { audio, name: "narrator" },
    "upscale-1": { image },
  };
}

test("every model's outputs fit its output_schema, which lets no key be unknown, and none be absent that was there before 3.17 [M5 O1 O3]", async () => {
  const service = await start();
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formatsPlugin.default(ajv);
  for (const [model, input] of Object.entries(await inputs(service))) {
    const fits = ajv.compile((await get(service, `/models/${model}`)).body.output_schema);
    const { outputs } = await made(service, model, input);
    expect(outputs.length).toBeGreaterThan(0);
    for (const output of outputs) {
      fits(output);
      expect([model, fits.errors]).toEqual([model, null]);
      for (const key of Object.keys(output)) {
        const { [key]: _gone, ...rest } = output;
        expect([model, key, fits(rest)]).toEqual([model, key, key === "expires_at"]);
      }
      expect(fits({ ...output, more: 1 })).toBe(false);
    }
  }
});

test("the example model publishes its defaults, its limits and what each of its media is for [M4 M7 M11 M12 V6 V9 V17 V24 V25 V27 V28 V29]", async () => {
  const service = await start();
  const { input_schema, modality } = (await get(service, "/models/video-1")).body;
  const { properties } = input_schema;
  expect(modality).toBe("video");
  expect(input_schema).toMatchObject({ additionalProperties: false, required: ["aspect_ratio", "duration_ms"] });
  const defaults = Object.entries<Body>(properties).flatMap(([name, { default: value }]) =>
    value === undefined ? [] : [[name, value]],
  );
  expect(Object.fromEntries(defaults)).toEqual({ quality: "standard", generate_audio: true, num_outputs: 1 });
  expect(properties.multi_prompt.items.properties.duration_ms.default).toBe(5000);
  const media = { media_type: "image", max_file_size_bytes: 10_485_760, discriminator: { propertyName: "source" } };
  expect(properties.start_image).toMatchObject({ ...media, role: "start_frame" });
  expect(properties.end_image).toMatchObject({ ...media, role: "end_frame" });
  expect(properties.start_image.oneOf.map((form: Body) => [form.required, form.additionalProperties])).toEqual([
    [["source", "url"], false],
    [["source", "asset_id"], false],
  ]);
});

test("a submit that leaves out what has a default is the same as one that says it [V9 V24]", async () => {
  const service = await start();
  const costOf = async (input: object) =>
    (await ask(service, "POST", "/models/video-1/estimate", { body: { input } })).body.cost;
  const bare = { prompt: "x", aspect_ratio: "1:1", duration_ms: 3000 };
  const said = { ...bare, quality: "standard", generate_audio: true, num_outputs: 1 };
  expect(await costOf(bare)).toBe(await costOf(said));
  expect(await costOf({ ...bare, generate_audio: false })).toBeLessThan(await costOf(bare));
});

test.each([
  ["image-1", ["prompt"]],
  ["speech-1", ["text", "voice_id"]],
  ["avatar-1", ["aspect_ratio", "audio", "prompt", "resolution", "start_image"]],
])("%s cannot do without %j [WJ35]", async (model, fields) => {
  const service = await start();
  const { error } = (await ask(service, "POST", `/models/${model}/estimate`, { body: { input: {} } })).body;
  const required = error.details.filter(({ reason }: Body) => reason === "required");
  expect(required.map(({ field }: Body) => field).toSorted()).toEqual(fields.map((field) => `input.${field}`));
});

const limited = (rules: object) => ({
  id: "limited-1",
  modality: "image",
  name: "Limited",
  input_schema: {
    type: "object",
    additionalProperties: false,
    properties: { media: { ...rules, type: "object", discriminator: { propertyName: "source" } } },
  },
});

test.each([
  ["image", "min_dimension_px", 65, 64],
  ["image", "max_dimension_px", 63, 64],
  ["image", "min_aspect_ratio", 1.1, 1],
  ["image", "max_aspect_ratio", 0.9, 1],
  ["image", "max_file_size_bytes", 10, 1e6],
  ["audio", "min_duration_ms", 3_600_000, 1],
  ["audio", "max_duration_ms", 1, 3_600_000],
])(
  "an %s field's %s of %d is kept to, and one of %d lets it pass [M13 WJ34]",
  async (media_type, rule, narrow, wide) => {
    const bytes = media_type === "image" ? PICTURE.bytes : SOUND.bytes;
    const answer = async (limit: number) => {
      const service = await start({ catalog: [limited({ media_type, [rule]: limit })] });
      const input = { media: await uploaded(service, bytes) };
      return ask(service, "POST", "/models/limited-1/estimate", { body: { input } });
    };
    expect((await answer(narrow)).body.error.details).toMatchObject([{ field: "input.media", reason: rule }]);
    expect((await answer(wide)).status).toBe(200);
  },
);
