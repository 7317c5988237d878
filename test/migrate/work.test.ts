import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PlanStep } from "../../src/core/plan/plan.ts";
import { languageCode } from "../../src/migrate/bodies/speech.ts";
import { migrateV2, migrationFiles } from "../../src/migrate/index.ts";
import { workDifferences } from "../../src/migrate/proof/verify.ts";
import type { BodyReport } from "../../src/migrate/report/report.ts";
import { ownCatalog } from "../support/built-in-catalog.ts";
import { anyDocument } from "./support/arbitraries.ts";
import { id, migrateBodies } from "./support/migrate-one.ts";
import { evaluate, planOf } from "./support/planned.ts";
import { wideCatalog } from "./support/wide-catalog.ts";

const RUNS = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 50);
const catalogs = { "the built-in models": ownCatalog(), "models for every type": wideCatalog() };
const film = { text_prompt: "waves", duration_ms: 5000, aspect_ratio: "16:9" };

/** Ids, prompts and shots of a body that v2 would have used, as its own documents have them. */
function workOf(body: { readonly [key: string]: unknown }): readonly string[] {
  const inputs = (body.generated_video_inputs ?? {}) as { readonly [key: string]: unknown };
  const texts = [body.prompt, body.text, body.text_prompt, inputs.text_prompt];
  texts.push(body.negative_prompt, inputs.negative_prompt);
  const shots = Array.isArray(inputs.multi_prompt) ? inputs.multi_prompt.map(({ prompt }) => prompt) : [];
  return [...texts, ...shots].filter((text): text is string => typeof text === "string" && /[a-z]{3}/i.test(text));
}

/** Fields that hold an id or address of a medium or voice that v2 uses, written down apart from the code. */
const MEDIUM =
  /^((audio|video|image|voice)_id(\[\d+\])?|audio_generation\.voice_id|(start|end)_keyframe_(id|url)|reference_(image|audio|video)(_asset)?_ids\[\d+\]|frontal_image_asset_id)$/;

/** Media and voices of a body that reach no step of the plan, though v2 would have used them and nothing says so. */
function silentlyLost({ fields }: BodyReport, steps: readonly PlanStep[]): readonly string[] {
  return fields.flatMap(({ field, given, value, to, isLost, why }) => {
    const isAsked = given && MEDIUM.test(field) && typeof value === "string";
    // Of two fields for one thing v2 takes one.
    if (!isAsked || isLost || why?.includes("is also given")) return [];
    const [step, name = ""] = to?.split(": ") ?? [];
    const planned = steps.filter(({ path }) => path === step || path.startsWith(`${step}-take-`));
    const isThere = planned.some(
      (one) => "input" in one && Object.hasOwn(one.input as object, name.split("[")[0] ?? ""),
    );
    return isThere ? [] : [`${field} (${to})`];
  });
}

describe.each(Object.entries(catalogs))("the work of v2 bodies, with %s", (_name, catalog) => {
  test("a prompt, shot, medium or voice that is in no job is an open point and is never verified", () => {
    fc.assert(
      fc.property(anyDocument, (bodies) => {
        const value = JSON.parse(JSON.stringify(bodies)) as readonly { readonly [key: string]: unknown }[];
        const migration = migrateV2(value, { catalog });
        const { source, report } = migration;
        if (source === null) return;
        const planned = planOf(migration, evaluate(source, catalog), catalog);
        if (!planned.ok) throw new Error(JSON.stringify(planned.problems));
        const differences = workDifferences(report, planned.plan);
        for (const body of report.bodies.filter(({ status }) => status === "migrated")) {
          const inputs = JSON.stringify(
            planned.plan.steps
              .filter(({ path }) => body.steps.includes(path))
              .map((step) => "input" in step && step.input),
          );
          const open = body.fields.filter(({ isLost, outcome }) => isLost || outcome === "decision");
          const told = JSON.stringify(open.map((entry) => entry.value));
          for (const text of workOf(value[body.number - 1] ?? {})) {
            const said = JSON.stringify(text).slice(1, -1);
            expect([text, inputs.includes(said) || told.includes(said)]).toEqual([text, true]);
          }
          expect(silentlyLost(body, planned.plan.steps)).toEqual([]);
          const lost = body.fields.filter(({ isLost }) => isLost).length;
          expect(body.fields.filter(({ isLost, outcome }) => isLost && outcome !== "decision")).toEqual([]);
          expect(differences.filter((one) => one.startsWith(`${body.at}: `)).length).toBe(lost);
        }
      }),
      { seed: 20_261_122, numRuns: RUNS },
    );
  });

  test("a field that a job does not have as the report says is a difference that names body, field and step", () => {
    const migration = migrateV2([{ type: "image", text_prompt: "a lighthouse", aspect_ratio: "16:9" }], { catalog });
    const planned = planOf(migration, evaluate(migration.source!, catalog), catalog);
    if (!planned.ok) throw new Error("no plan");
    expect(workDifferences(migration.report, planned.plan)).toEqual([]);
    const steps = planned.plan.steps.map((step) =>
      step.kind === "job" ? { ...step, input: { ...(step.input as object), aspect_ratio: "1:1" } } : step,
    );
    expect(workDifferences(migration.report, { ...planned.plan, steps })).toEqual([
      'body 1: aspect_ratio of step image-1 is "1:1" in aspect_ratio, but should be "16:9"',
    ]);
  });
});

describe("what migration got wrong", () => {
  test("a negative prompt that the model does not take is to decide; a blank one is nothing", () => {
    const of = (negative_prompt: string) =>
      migrateBodies([{ type: "image", text_prompt: "a horse", negative_prompt }]).field("negative_prompt");
    expect(of("people")).toMatchObject({
      outcome: "decision",
      isLost: true,
      choices: ["leave it out", expect.any(String)],
    });
    expect(of(" ")).toMatchObject({ outcome: "dropped" });
    expect(of(" ")).not.toHaveProperty("isLost");
  });

  test("audio_id comes before audio_generation: it is used, and no speech is bought", () => {
    const speech = { type: "text_to_speech", voice_id: id(3), text: "Good evening." };
    const { steps, field } = migrateBodies([
      {
        type: "video",
        model_slug: "acme/avatar-1",
        start_keyframe_id: id(1),
        audio_id: id(2),
        audio_generation: speech,
        generated_video_inputs: film,
      },
    ]);
    expect(Object.keys(steps).filter((step) => step.includes("speech"))).toEqual([]);
    expect(field("audio_id")?.to).toMatch(/: audio/);
    expect(field("audio_generation")).toMatchObject({ outcome: "dropped", given: true });
    expect(field("audio_generation")?.isLost).toBe(undefined);
  });

  test.each([
    ["Chinese,Yue", "yue"],
    ["Chinese (Cantonese)", "yue"],
    ["Cantonese", "yue"],
    ["Chinese (Mandarin)", "zh"],
    ["Chinese", "zh"],
    ["Norwegian Nynorsk", "nn"],
    ["Nynorsk", "nn"],
    ["Norwegian", "no"],
    ["Portuguese (Brazil)", "pt"],
    ["English, Spanish", null],
    ["Klingon", null],
    ["English", "en"],
    [" german ", "de"],
    ["pt-BR", "pt-br"],
  ])("the language %s is %s", (name, code) => expect(languageCode(name)).toBe(code));

  test("num_inference_steps and guidance_scale go to a model's steps and guidance", () => {
    const catalog = wideCatalog();
    const { inputSchema, ...base } = catalog.model("image-1")!;
    const properties = {
      ...(inputSchema.properties as object),
      steps: { type: "integer", minimum: 1, maximum: 50 },
      guidance: { type: "number", minimum: 0, maximum: 20 },
    };
    const withSteps = { ...base, inputSchema: { ...inputSchema, properties } };
    const models = catalog.models().map((model) => (model.id === "image-1" ? withSteps : model));
    const { migration } = migrateBodies(
      [{ type: "image", model_slug: "acme/image-1", text_prompt: "x", num_inference_steps: 30, guidance_scale: 6.5 }],
      {
        catalog: {
          ...catalog,
          models: () => models,
          model: (name) => models.find(({ id: own }) => own === name) ?? null,
        },
      },
    );
    const entries = migration.report.bodies[0]?.fields.map(({ field, to }) => [field, to]);
    expect(entries).toContainEqual(["num_inference_steps", "image-1: steps"]);
    expect(entries).toContainEqual(["guidance_scale", "image-1: guidance"]);
  });

  test("generated_video_inputs.ai_model_id names the model", () => {
    const { field } = migrateBodies([{ type: "video", generated_video_inputs: { ...film, ai_model_id: id(9) } }], {
      map: { [id(9)]: "video-1" },
    });
    expect(field("generated_video_inputs.ai_model_id")).toMatchObject({ outcome: "converted", why: "as mapped" });
    expect(field("model_slug")).toBe(undefined);
  });

  test("a node that is switched off makes no job", () => {
    const node = (name: string, more: object) => ({
      name,
      ...more,
      parameters: {
        method: "POST",
        url: "https://api.example/v2/generations",
        jsonBody: { type: "image", text_prompt: "x" },
      },
    });
    const flow = { nodes: [node("On", {}), node("Off", { disabled: true }), node("Off too", { enabled: false })] };
    const { report } = migrateV2(flow, { catalog: ownCatalog() });
    expect(report.steps.map(({ name }) => name)).toEqual(["on"]);
    expect(report.left).toEqual([
      { at: 'node "Off"', why: "is disabled in the flow, so it generates nothing" },
      { at: 'node "Off too"', why: "is disabled in the flow, so it generates nothing" },
    ]);
  });
});

test("speech that its model does not take goes nowhere, and every field of it says so", () => {
  const speech = { type: "text_to_speech", voice_id: id(3), text: " " };
  const body = { type: "video", start_keyframe_id: id(1), audio_generation: speech, generated_video_inputs: film };
  const { migration, steps } = migrateBodies([{ ...body, model_slug: "acme/avatar-1" }]);
  for (const { field, to } of migration.report.bodies[0]?.fields ?? []) {
    const step = to?.split(":")[0];
    if (step !== undefined && step !== null) expect([field, Object.keys(steps).includes(step)]).toEqual([field, true]);
  }
});

test("a body that stays open is kept in report.md without marks that reorder what is read", () => {
  const { migration } = migrateBodies([
    { type: "text_to_sound", text: "wind \u202e dniw", output_format: "\u2066mp3" },
  ]);
  const markdown = migrationFiles(migration, ownCatalog())["report.md"] ?? "";
  expect(markdown).toContain("wind \\u202e dniw");
  expect(markdown).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
});
