import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { typeCheck } from "../../support/type-check.ts";

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
  [
    `job("10", models.image, { prompt: face });`,
    `Type 'JobHandle<"image", 4>' is not assignable to type 'string | Value<string>'.`,
  ],
  [`face.output(4);`, `Argument of type '4' is not assignable to parameter of type '0 | 1 | 2 | 3'.`],
  [`speech.output(1);`, `Argument of type '1' is not assignable to parameter of type '0'.`],
  [`job("11", models.images, { prompt: "x" });`, `Property 'images' does not exist on type`],
  [`job("12", models.image, { prompt: "x" }, { maxCost: 1.5 });`, `Type 'number' is not assignable to type 'string'.`],
  [`job("13", "untyped", { at: new Date() });`, `Type 'Date' is not assignable to type 'UntypedValue'.`],
  [
    `story.at("tilte");`,
    `Argument of type '"tilte"' is not assignable to parameter of type '"lengthMs" | "scenes" | "title"'.`,
  ],
  [`story.at("scenes").at("prompt");`, `Argument of type 'string' is not assignable to parameter of type 'number'.`],
  [
    `job("14", models.image, { prompt: story.at("lengthMs") });`,
    `Type 'ValueHandle<number>' is not assignable to type 'string | Value<string>'.`,
  ],
  [
    `job("15", models.image, { prompt: "x", quality: story.at("title") });`,
    `Type 'ValueHandle<string>' is not assignable to type 'OrValue<"pro" | "standard">'.`,
  ],
  [
    `job("16", models.image, { prompt: "x", images: [story.at("title")] });`,
    `Type 'ValueHandle<string>' is not assignable to type 'AllMedia<"image"> | Media<"image">'.`,
  ],
  [
    `job("17", models.image, { prompt: text\`of \${face}\` });`,
    `Argument of type 'JobHandle<"image", 4>' is not assignable to parameter of type 'TextPiece'.`,
  ],
  [
    `task("18", { face }, ({ faces }) => faces);`,
    `Property 'faces' does not exist on type '{ readonly face: LocalFile; }'.`,
  ],
  [`task("19", {}, () => 1, { files: { notes: "font" } });`, `Type '"font"' is not assignable to type 'FileKind'.`],
  [`film.file("cover");`, `Argument of type '"cover"' is not assignable to parameter of type '"film"'.`],
  [
    `chat("20", "chat-1", { prompt: face });`,
    `Type 'JobHandle<"image", 4>' is not assignable to type 'OrValue<string> | undefined'.`,
  ],
  [`choose("21", face, { by: "editor" });`, `Type '"editor"' is not assignable to type 'ChosenBy'.`],
  [
    `expand("22", face, () => [], { maxSteps: 1 });`,
    `Argument of type 'JobHandle<"image", 4>' is not assignable to parameter of type 'Value<unknown> | ValuesHandle<unknown>'.`,
  ],
  [
    `expand("23", story.at("scenes"), (all, b) => all.map((one) => b.job("x", models.image, { prompt: one.text })), { maxSteps: 1 });`,
    `Property 'text' does not exist on type '{ prompt: string; }'.`,
  ],
  [
    `expand("24", story.at("title"), (said, b) => b.job("x", models.image, { prompt: said }), {});`,
    `Property 'maxSteps' is missing in type '{}' but required in type 'ExpandOptions`,
  ],
  [
    `expand("25", story.at("title"), (said, b) => b.chat("x", "chat-1", { prompt: said }), { maxSteps: 1 });`,
    `Argument of type '{ maxSteps: number; }' is not assignable to parameter of type 'ExpandOptions<"value">`,
  ],
  [
    `takes("26", models.image, { prompt: "x" }, { choose: "first" });`,
    `Property 'count' is missing in type '{ choose: "first"; }' but required in type 'TakesOptions<`,
  ],
  [
    `job("27", models.image, { prompt: "x" }, { when: equals(story.at("title"), 5) });`,
    `Argument of type 'number' is not assignable to parameter of type 'string'.`,
  ],
  [
    `job("28", models.image, { prompt: "x" }, { when: face });`,
    `Type 'JobHandle<"image", 4>' is not assignable to type 'When | undefined'.`,
  ],
  [
    `job("29", models.image, { prompt: "x", images: [approve("30", speech)] });`,
    `Type 'Handle<"audio", "single">' is not assignable to type 'AllMedia<"image"> | Media<"image">'.`,
  ],
  [
    `include("31", inner, { word: "x" });`,
    `Object literal may only specify known properties, but 'word' does not exist in type '{ words: string; }'. Did you mean to write 'words'?`,
  ],
];

test("wrong code fails on its own line, with a message that names the kinds", async () => {
  const models = readFileSync(new URL("../../../recipes/models.ts", import.meta.url), "utf8");
  const before = `import { asset, equals, pipeline, text } from "showrunner";
import { z } from "zod";
import { models } from "./models.ts";
const inner = pipeline("inner", { input: z.object({ words: z.string() }), build: () => ({}) });
const schema = z.object({ title: z.string(), lengthMs: z.int(), scenes: z.array(z.object({ prompt: z.string() })) });
export default pipeline("p", { input: z.object({}), build({ approve, chat, choose, expand, include, job, takes, task, upload }) {
const speech = job("a", models.speech, { text: "x", voice_id: "v" });
const face = job("f", models.image, { prompt: "x" });
const voice = job("v", models.voiceClone, { audio: upload("u", "a.wav"), name: "x" });
const story = chat("story", "chat-1", { prompt: "x" }, { schema });
const film = task("film", { face }, () => 5, { files: { film: "video" } });
void [asset, equals, text, inner, speech, face, voice, story, film, approve, choose, expand, include, takes];
`;
  const source = `${before}${wrong.map(([line]) => line).join("\n")}\nreturn {}; } });\n`;
  const said = await typeCheck({ "models.ts": models, "use.ts": source });
  const first = before.split("\n").length;
  for (const [index, [line, message]] of wrong.entries()) {
    const at = said.split("\n").filter((text) => text.startsWith(`use.ts(${first + index},`));
    expect(at, line).toHaveLength(1);
    // The input of a job, which a handle remembers, is cut from what it is called.
    expect(at[0]!.replace(/(JobHandle<"\w+", \d+), \{[^}]*\}>/g, "$1>"), line).toContain(message);
  }
});
