import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { expect, test } from "vitest";
import { PICTURE, SOUND } from "../../../src/local-service/start.ts";
import { exampleInputs } from "../support/model-inputs.ts";
import { type Body, estimate, made, read, start, uploaded } from "../support/service.ts";

/* What a model's entry says, held against what its jobs take and give. */

test("every model's outputs fit its output_schema, which lets no key be unknown, and none be absent that was there before 3.17 [M5 O1 O3]", async () => {
  const service = await start();
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formatsPlugin.default(ajv);
  const [image, audio] = [await uploaded(service, PICTURE.bytes), await uploaded(service, SOUND.bytes)];
  for (const [model, input] of Object.entries(exampleInputs(image, audio))) {
    const fits = ajv.compile((await read(service, `/models/${model}`)).output_schema);
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
  const { input_schema, modality } = await read(service, "/models/video-1");
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
  const costOf = async (input: object) => (await estimate(service, "video-1", input)).body.cost;
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
  const { error } = (await estimate(service, model, {})).body;
  const required = error.details.filter(({ reason }: Body) => reason === "required");
  expect(required.map(({ field }: Body) => field).toSorted()).toEqual(fields.map((field) => `input.${field}`));
});

function limited(rules: object) {
  const properties = { media: { ...rules, type: "object", discriminator: { propertyName: "source" } } };
  const input_schema = { type: "object", additionalProperties: false, properties };
  return { id: "limited-1", modality: "image", name: "Limited", input_schema };
}

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
      return estimate(service, "limited-1", input);
    };
    expect((await answer(narrow)).body.error.details).toMatchObject([{ field: "input.media", reason: rule }]);
    expect((await answer(wide)).status).toBe(200);
  },
);
