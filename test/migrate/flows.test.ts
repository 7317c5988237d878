import { describe, expect, test } from "vitest";
import { migrateV2 } from "../../src/migrate/index.ts";
import { parseTemplatedJson } from "../../src/migrate/read/flow-nodes.ts";
import { soleExpression, targetOf, textParts } from "../../src/migrate/read/source.ts";
import { ownCatalog } from "../support/built-in-catalog.ts";
import { evaluate, planOf } from "./support/planned.ts";

const catalog = ownCatalog();
const api = "https://api.example/v2";

function node(name: string, parameters: object, type = "n8n-nodes-base.httpRequest") {
  return { name, type, parameters };
}

function post(name: string, path: string, body: string | object) {
  return node(name, {
    method: "POST",
    url: `${api}${path}`,
    ...(typeof body === "string" ? { jsonBody: body } : { body }),
  });
}

/** Each node leads to the next. */
function chain(...nodes: readonly { readonly name: string }[]) {
  const connections = Object.fromEntries(
    nodes
      .slice(0, -1)
      .map(({ name }, index) => [name, { main: [[{ node: nodes[index + 1]?.name, type: "main", index: 0 }]] }]),
  );
  return { name: "Avatar", nodes, connections, settings: {} };
}

const avatar = chain(
  node("Upload Portrait", {
    method: "POST",
    url: `${api}/assets`,
    bodyParameters: {
      parameters: [
        { name: "name", value: "portrait.png" },
        { name: "type", value: "image" },
      ],
    },
  }),
  node("Send bytes", { method: "POST", url: `=${api}/assets/{{ $json.id }}/upload` }),
  post(
    "Generate speech",
    "/generations",
    `={"type": "text_to_speech", "voice_id": "{{ $vars.voice }}", "text": "Hello {{ $json["customer"] }}!"}`,
  ),
  node("Wait", {}, "n8n-nodes-base.wait"),
  node("Status", { method: "GET", url: `=${api}/generations/{{ $('Generate speech').item.json.id }}/status` }),
  post(
    "Generate film",
    "/generations",
    `={"type": "video", "start_keyframe_id": "{{ $('Upload Portrait').item.json.id }}", "audio_id": "{{ $json.asset_id }}",
      "generated_video_inputs": {"text_prompt": "{{ $('Form').item.json.mood }}", "duration_ms": {{ $json.ms }}, "resolution": "720p"}}`,
  ),
);

describe("an exported flow", () => {
  test("becomes steps whose edges follow its expressions, past waits, uploads and status requests", () => {
    const migration = migrateV2(avatar, { catalog });
    const { report, source } = migration;
    expect(report.problems).toEqual([]);
    expect(report.format).toBe("flow");
    expect(report.bodies.map(({ at, status }) => [at, status])).toEqual([
      ['node "Upload Portrait"', "asset"],
      ['node "Generate speech"', "migrated"],
      ['node "Generate film"', "migrated"],
    ]);
    const planned = planOf(migration, evaluate(source ?? "", catalog), catalog);
    expect(planned.ok).toBe(true);
    const film = planned.ok ? planned.plan.steps.find(({ path }) => path === "film") : undefined;
    expect(film?.needs).toEqual(["portrait", "speech"]);
  });

  test("says of every other node why it does not go on", () => {
    expect(migrateV2(avatar, { catalog }).report.left).toEqual([
      { at: 'node "Send bytes"', why: "the pipeline uploads its files itself" },
      { at: 'node "Wait"', why: expect.stringContaining("sends no generation request to v2") },
      { at: 'node "Status"', why: "a run polls its jobs itself" },
    ]);
  });

  test("what it fills in is input of the pipeline: text, voices, files; a number is a decision", () => {
    const { report, source } = migrateV2(avatar, { catalog });
    expect(report.inputs.map(({ name, is }) => [name, is])).toEqual([
      ["customer", "text"],
      ["voice", "voice"],
      ["mood", "text"],
      ["portrait", "file"],
    ]);
    expect(source).toContain(["text: `Hello $", "{input.customer}!`,"].join(""));
    const fields = report.bodies[2]?.fields ?? [];
    expect(fields.find(({ field }) => field === "generated_video_inputs.duration_ms")).toMatchObject({
      outcome: "decision",
    });
  });

  test("a body that is no JSON is reported by its node and position, the others are migrated", () => {
    const flow = chain(
      post("Good", "/generations", { type: "image", text_prompt: "x" }),
      post("Bad", "/generations", '={"type": image}'),
    );
    const { report } = migrateV2(JSON.stringify(flow), { catalog });
    expect(report.steps.map(({ name }) => name)).toEqual(["good"]);
    expect(report.problems).toMatchObject([
      {
        at: 'node "Bad"',
        line: 1,
        message: "its body is not valid JSON at line 1, column 10: Unexpected token 'i'",
      },
    ]);
  });

  test("nodes that lead in a circle, and expressions that name no node, end as files to supply", () => {
    const loop = chain(
      node("If", {}, "n8n-nodes-base.if"),
      post("Film", "/generations", {
        type: "video",
        start_keyframe_id: "{{ $('Nowhere').item.json.id }}",
        generated_video_inputs: { text_prompt: "x" },
      }),
    );
    const flow = { ...loop, connections: { ...loop.connections, Film: { main: [[{ node: "If" }]] } } };
    const { report } = migrateV2(flow, { catalog });
    expect(report.problems).toEqual([]);
    expect(report.inputs.map(({ name }) => name)).toEqual(["nowhere"]);
  });

  test("modules numbered as in other tools are understood", () => {
    const flow = {
      flow: [
        {
          id: 1,
          module: "http:ActionSendData",
          mapper: { url: `${api}/generations`, method: "post", data: '{"type": "image", "text_prompt": "a boat"}' },
        },
        {
          id: 2,
          module: "http:ActionSendData",
          mapper: {
            url: `${api}/generations`,
            method: "post",
            data: '{"type": "video", "start_keyframe_id": "{{1.data.asset_id}}", "generated_video_inputs": {"text_prompt": "it drifts"}}',
          },
        },
      ],
    };
    const { report, source } = migrateV2(flow, { catalog });
    expect(report.problems).toEqual([]);
    expect(source).toContain("start_image: node1,");
  });

  test("names under which a node keeps its result lead to it, also in single braces", () => {
    const step = (name: string, body: object, more: object) => ({
      name,
      request: { method: "POST", url: `${api}/generations`, body },
      ...more,
    });
    const flow = {
      steps: [
        step("Picture", { type: "image", text_prompt: "a boat" }, { saveAs: "image_asset_id" }),
        step(
          "Speech",
          { type: "text_to_speech", voice_id: "{voice}", text: "Hello {{name}}" },
          { outputs: { speech_id: "$.asset_id" } },
        ),
        step(
          "Film",
          {
            type: "video",
            start_keyframe_id: "{image_asset_id}",
            audio_id: "{{ speech_id }}",
            generated_video_inputs: { text_prompt: "it talks" },
          },
          {},
        ),
      ],
    };
    const { report, source } = migrateV2(flow, { catalog });
    expect(report.problems).toEqual([]);
    expect(source).toContain("start_image: picture,");
    expect(source).toContain("audio: speech,");
    expect(report.inputs.map(({ name, is }) => [name, is])).toEqual([
      ["name", "text"],
      ["voice", "voice"],
    ]);
  });

  test("pairs of names and values make a body, with dots for what is within", () => {
    const pairs = [
      { name: "type", value: "video" },
      { name: "generated_video_inputs.text_prompt", value: "waves" },
      { name: "generated_video_inputs.duration_ms", value: "={{ 4000 }}" },
      { name: "__proto__.polluted", value: "x" },
    ];
    const flow = chain(
      node("Film", { method: "POST", url: `${api}/generations`, bodyParameters: { parameters: pairs } }),
    );
    const { report } = migrateV2(flow, { catalog });
    expect(report.bodies[0]?.fields.find(({ field }) => field === "generated_video_inputs.duration_ms")).toMatchObject({
      value: 4000,
    });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe("templates", () => {
  test("are told from text", () => {
    expect(textParts("=Hi {{ $json.name }}, at {{ x }}")).toEqual([
      "Hi ",
      { expression: "$json.name" },
      ", at ",
      { expression: "x" },
    ]);
    expect(textParts("a {red|blue} bird")).toEqual(["a {red|blue} bird"]);
    expect(soleExpression("{image_asset_id}")).toBe("image_asset_id");
    expect(soleExpression("x {{ y }}")).toBeNull();
  });

  test.each([
    ["$('Upload Portrait').item.json.id", { to: "node", name: "Upload Portrait", rest: ".item.json.id" }],
    ['$node["A"].json["asset_id"]', { to: "node", name: "A", rest: '.json["asset_id"]' }],
    ["3.data.id", { to: "node", name: "3", rest: ".data.id" }],
    ["steps.make.id", { to: "node", name: "make", rest: ".id" }],
    ["$json.id", { to: "previous", rest: ".id" }],
    ["image_asset_id", { to: "variable", name: "image_asset_id" }],
  ])("%s names its target", (expression, target) => {
    expect(targetOf(expression)).toEqual(target);
  });

  test("stand in JSON within strings and in place of values", () => {
    expect(parseTemplatedJson('={"a": "x {{ $json["b"] }}", "c": {{ $json.d }}, "e": {"f": {"g": 1}}}')).toEqual({
      value: { a: 'x {{ $json["b"] }}', c: "{{ $json.d }}", e: { f: { g: 1 } } },
    });
    expect(parseTemplatedJson('={{ JSON.stringify({"a": 1}) }}')).toEqual({ value: { a: 1 } });
    expect(parseTemplatedJson("={{ $json.body }}")).toMatchObject({
      problem: expect.stringContaining("computed by an expression"),
    });
  });
});
