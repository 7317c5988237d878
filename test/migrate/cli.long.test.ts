import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { writeSnapshot } from "../../src/core/catalog/index.ts";
import { fakeIo } from "../cli/support/fake-io.ts";
import { ownCatalog } from "../support/built-in-catalog.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { id } from "./support/migrate-one.ts";
import { wideCatalog } from "./support/wide-catalog.ts";

const batch = resolve(import.meta.dirname, "../../recipes/migrated/avatar-batch/v2.json");
const maps = ["--map", "google/nano-banana-pro=image-1", "--map", "together/hedra-avatar=avatar-1"];
const image = { type: "image", text_prompt: "a lighthouse" };

let cwd = "";
beforeEach(() => {
  cwd = newFolder();
});

async function migrate(args: readonly string[], ask: ((question: string) => Promise<string>) | null = null) {
  const { io, stdout, stderr } = fakeIo({ cwd, ask });
  const code = await runCli(["migrate", ...args], io);
  return { code, stdout: stdout(), stderr: stderr() };
}

function write(value: unknown, name = "v2.json"): string {
  writeFileSync(join(cwd, name), typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return name;
}

const read = (name: string) => readFileSync(join(cwd, "out", name), "utf8");

describe("showrunner migrate", () => {
  test("writes pipeline, models and report, prices the jobs and proves the source on a local service", async () => {
    const { code, stdout, stderr } = await migrate([batch, "--out", "out", "--verify", ...maps]);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trim().split("\n")).toEqual(["out/pipeline.ts", "out/models.ts", "out/report.json", "out/report.md"]);
    expect(stderr).toContain("3 bodies migrated to 5 jobs");
    expect(stderr).toContain("Price: $");
    expect(stderr).toContain("Verified: the outputs match what v2 would produce.");
    expect(stderr).toContain("Next: read out/report.md, then: showrunner plan out/pipeline.ts");
    const report = JSON.parse(read("report.json"));
    expect(report.verification).toMatchObject({
      ok: true,
      expected: [
        { kind: "image", count: 2 },
        { kind: "video", count: 1 },
        { kind: "voice", count: 1 },
      ],
    });
    expect(read("report.md")).toContain("credits have no fixed dollar value");
  });

  test("writes the same bytes again, and refuses to write over what was edited", async () => {
    await migrate([batch, "--out", "out"]);
    const before = ["pipeline.ts", "models.ts", "report.json", "report.md"].map(read);
    expect((await migrate([batch, "--out", "out"])).code).toBe(0);
    expect(["pipeline.ts", "models.ts", "report.json", "report.md"].map(read)).toEqual(before);
    expect((await migrate([batch, "--out", "out", ...maps])).code).toBe(0);
    writeFileSync(join(cwd, "out/pipeline.ts"), `${read("pipeline.ts")}// mine\n`);
    const refused = await migrate([batch, "--out", "out"]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has been edited since it was generated"),
    });
    expect(read("pipeline.ts")).toContain("// mine");
    expect((await migrate([batch, "--out", "out", "--force"])).code).toBe(0);
    expect(read("pipeline.ts")).not.toContain("// mine");
  });

  test("asks a person for each open model and voice, once", async () => {
    const speech = { type: "text_to_speech", voice_id: id(1), text: "Good evening." };
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return question.startsWith("voice") ? "2" : "";
    };
    write([
      { ...image, model_slug: "acme/brush" },
      { ...image, model_slug: "acme/brush" },
      speech,
      { ...speech, text: "Again." },
    ]);
    const { code, stderr } = await migrate(["v2.json", "--out", "out"], ask);
    expect(code).toBe(0);
    expect(asked.map((question) => question.split(" ")[0])).toEqual(["model", "voice"]);
    expect(stderr).toContain("2  voice_");
    expect(read("pipeline.ts")).toContain('voice_id: "voice_2b7d9a10-6c42-4e8b-9d21-7e3f4b5c6d02"');
    expect(JSON.parse(read("report.json")).decisions).toEqual([]);
  });

  test("ends with 3 when something is left behind, with 2 when nothing could be migrated", async () => {
    await writeSnapshot(join(cwd, "catalog.json"), ownCatalog());
    write([image, { type: "image" }, { type: "text_to_sound", text: "wind" }]);
    const partial = await migrate(["v2.json", "--out", "out", "--catalog", "catalog.json"]);
    expect(partial).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("body 2 (line 6, column 3): text_prompt is required"),
    });
    expect(partial.stderr).toContain("1 body migrated to 1 job, 1 open, 1 problem");
    write("<html>", "page.json");
    const none = await migrate(["page.json", "--out", "none"]);
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the document (line 1, column 1): is HTML or XML"),
    });
    expect(JSON.parse(readFileSync(join(cwd, "none/report.json"), "utf8")).problems.length).toBe(1);
  });

  test("a body that fails in the proof is told with its step and the cause", async () => {
    write([
      {
        type: "video",
        model_slug: "acme/avatar-1",
        start_keyframe_id: id(1),
        audio_id: id(2),
        audio_start_ms: 9000,
        generated_video_inputs: { text_prompt: "speaks", aspect_ratio: "9:16", resolution: "720p" },
      },
    ]);
    const { code, stderr } = await migrate(["v2.json", "--out", "out", "--verify"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /Not verified: .*step video-1-audio-shifted failed: .*is shorter than the 9000 ms to be trimmed/,
    );
    expect(stderr).toContain("body 1: v2 makes 1 × video; video-1 made nothing");
    expect(stderr).not.toContain("nothing, nothing");
  });

  test("decisions are stored in a file, and a second document repeats no question", async () => {
    const shots = [{ prompt: "Hands fold paper", duration_ms: 3000 }];
    const inputs = { text_prompt: "A boat", aspect_ratio: "16:9", multi_prompt: shots };
    write([
      { ...image, model_slug: "acme/brush" },
      { type: "video", generated_video_inputs: inputs },
    ]);
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return question.startsWith("leave") ? "y" : "2";
    };
    const first = await migrate(["v2.json", "--out", "out"], ask);
    expect(first.stderr).toContain("Stored the decisions in migrate.decisions.json");
    expect(asked.map((question) => question.split(" ")[0])).toEqual(["model", "leave"]);
    const kept = JSON.parse(readFileSync(join(cwd, "migrate.decisions.json"), "utf8"));
    expect(kept).toMatchObject({
      version: 1,
      map: { "acme/brush": expect.any(String) },
      leave_out: [expect.any(String)],
    });
    const second = await migrate(["v2.json", "--out", "out"], async (question) => {
      throw new Error(`asked again: ${question}`);
    });
    expect(second).toMatchObject({ code: first.code, stderr: expect.stringContaining("0 open") });
  });

  test("a loss is open until somebody decides it", async () => {
    const inputs = { text_prompt: "waves", duration_ms: 5000, aspect_ratio: "16:9" };
    write([{ type: "video", model_slug: "acme/video-1", video_id: id(1), generated_video_inputs: inputs }]);
    await writeSnapshot(join(cwd, "catalog.json"), ownCatalog());
    const { code, stderr } = await migrate(["v2.json", "--out", "out", "--verify", "--catalog", "catalog.json"]);
    expect(code).toBe(3);
    expect(stderr).toContain("open: body 1: video_id: video-1 accepts no video to start from");
    expect(stderr).toContain("1 body migrated to 1 job, 1 open");
    expect(stderr).toContain("Not verified: body 1: no step uses video_id");
  });

  test.each([
    ["{", "is not valid JSON"],
    ['{"version":2}', "version"],
    ['{"version":1,"map":{"a":3}}', "map.a"],
    ['{"version":1,"modles":{}}', "modles"],
  ])("a file of decisions that says %s is refused with the field", async (text, said) => {
    write(text, "mine.json");
    write([image]);
    const { code, stderr } = await migrate(["v2.json", "--out", "out", "--decisions", "mine.json"]);
    expect(code).toBe(2);
    expect(stderr).toContain("mine.json");
    expect(stderr).toContain(said);
  });

  test("takes the models of a catalog file, and proves on a service that has them", async () => {
    await writeSnapshot(join(cwd, "catalog.json"), wideCatalog());
    write([
      { type: "text_to_sound", text: "wind" },
      {
        type: "motion_control",
        video_id: id(1),
        start_keyframe_id: id(2),
        generated_video_inputs: { text_prompt: "x" },
      },
      { type: "image_upscale", image_id: id(2) },
    ]);
    const { code, stdout, stderr } = await migrate([
      "v2.json",
      "--out",
      "out",
      "--catalog",
      "catalog.json",
      "--verify",
      "--json",
    ]);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    const report = JSON.parse(stdout);
    expect(report.verification).toMatchObject({
      ok: true,
      found: [
        { kind: "image", count: 1 },
        { kind: "video", count: 1 },
        { kind: "audio", count: 1 },
      ],
    });
    expect(report.price.service).toBe("the local service (guessed prices)");
    expect(read("models.ts")).toContain('"sound-effects-2"');
  });

  test.each([
    [["none.json", "--out", "out"], "does not exist"],
    [["v2.json"], "required option '--out <dir>' not specified"],
    [["v2.json", "--out", "out", "--map", "x"], "--map x is not V2=V3"],
    [["v2.json", "--out", "out", "--map", "x=no-model"], "the catalog has no model no-model"],
  ])("%s is wrong usage, said before anything is written", async (args, message) => {
    write([image]);
    const { code, stderr } = await migrate(args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
