import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { typeCheck } from "../support/type-check.ts";

const size = 'prompt: "p", aspect_ratio: "9:16", resolution: "720p"';

/** Wrong lines of a pipeline, and the first line that the editor shows under each. */
const wrong: readonly (readonly [line: string, message: string])[] = [
  [
    `job("1", models.avatar, { start_image: speech, audio: speech, ${size} });`,
    `Type 'JobHandle<"audio", 1>' is not assignable to type 'Media<"image">'.`,
  ],
  [
    `job("2", models.avatar, { start_image: voice, audio: speech, ${size} });`,
    `Type 'JobHandle<"voice", 1>' is not assignable to type 'Media<"image">'.`,
  ],
  [
    `job("3", models.avatar, { start_image: upload("u", "a.wav"), audio: speech, ${size} });`,
    `Type 'UploadHandle<"audio">' is not assignable to type 'Media<"image">'.`,
  ],
  [
    `job("4", models.avatar, { start_image: asset("video", "asset_1"), audio: speech, ${size} });`,
    `Type 'AssetHandle<"video">' is not assignable to type 'Media<"image">'.`,
  ],
  [
    `job("5", models.speech, { text: "x", voice_id: face });`,
    `Type 'JobHandle<"image", 4>' is not assignable to type 'Voice'.`,
  ],
  [
    `job("6", models.image, { prompt: "x", images: speech.outputs() });`,
    `Type 'OutputsHandle<"audio">' is not assignable to type 'MediaList<"image">'.`,
  ],
  [
    `job("7", models.image, { promt: "x" });`,
    `Object literal may only specify known properties, but 'promt' does not exist in type 'ImageInput'. Did you mean to write 'prompt'?`,
  ],
  [`job("8", models.image, {});`, `Property 'prompt' is missing in type '{}' but required in type 'ImageInput'.`],
  [
    `job("9", models.image, { prompt: "x", quality: "ultra" });`,
    `Type '"ultra"' is not assignable to type 'OrValue<"pro" | "standard">'.`,
  ],
  [`job("10", models.image, { prompt: face });`, `Type 'JobHandle<"image", 4>' is not assignable to type 'string | Value<string>'.`],
  [`face.output(4);`, `Argument of type '4' is not assignable to parameter of type '0 | 1 | 2 | 3'.`],
  [`speech.output(1);`, `Argument of type '1' is not assignable to parameter of type '0'.`],
  [`job("11", models.images, { prompt: "x" });`, `Property 'images' does not exist on type`],
  [`job("12", models.image, { prompt: "x" }, { maxCost: 1.5 });`, `Type 'number' is not assignable to type 'string'.`],
  [`job("13", "untyped", { at: new Date() });`, `Type 'Date' is not assignable to type 'UntypedValue'.`],
];

test("wrong code fails on its own line, with a message that names the kinds", async () => {
  const models = readFileSync(new URL("../../recipes/models.ts", import.meta.url), "utf8");
  const before = `import { asset, pipeline } from "showrunner";
import { z } from "zod";
import { models } from "./models.ts";
export default pipeline("p", { input: z.object({}), build({ job, upload }) {
const speech = job("a", models.speech, { text: "x", voice_id: "v" });
const face = job("f", models.image, { prompt: "x" });
const voice = job("v", models.voiceClone, { audio: upload("u", "a.wav"), name: "x" });
void [asset, speech, face, voice];
`;
  const source = `${before}${wrong.map(([line]) => line).join("\n")}\nreturn {}; } });\n`;
  const said = await typeCheck({ "models.ts": models, "use.ts": source });
  const first = before.split("\n").length;
  for (const [index, [line, message]] of wrong.entries()) {
    const at = said.split("\n").filter((text) => text.startsWith(`use.ts(${first + index},`));
    expect(at, line).toHaveLength(1);
    expect(at[0], line).toContain(message);
  }
});
