import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { cleanJson } from "../../../src/core/engine/provenance/provenance.ts";
import { plainWav } from "../../../src/core/kit/placeholder-media.ts";
import { file, type JournalStore, type Json, type Manifest, manifestSchema, pipeline } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { during, type FakeShow, models, OUTPUT_BYTES, openFakeShow } from "../../support/engine.ts";
import { expectAbsent } from "../../support/expect-absent.ts";
import { overriding } from "../../support/overriding.ts";
import { runDecided, STORY } from "./fixtures/every-kind.ts";

const pictures = pipeline("pictures", {
  input: z.object({ look: z.string(), apiKey: z.string().optional() }),
  build({ input, job }) {
    const base = job("base", models.image, { prompt: input.look, seed: 7 });
    const hero = job("hero", models.image, { prompt: "closer", images: [base] });
    job("unrelated", models.image, { prompt: "something else" });
    return { hero };
  },
});

const avatar = (consent?: { readonly pipeline?: string; readonly step?: string }) =>
  pipeline("avatar", {
    input: z.object({ sample: file("audio") }),
    consent: consent?.pipeline,
    build({ input, job, upload }) {
      const sample = upload("sample", input.sample);
      const voice = job("voice", models.voiceClone, { audio: sample, name: "narrator" }, { consent: consent?.step });
      return { speech: job("speech", models.speech, { text: "Hello", voice_id: voice }) };
    },
  });

function manifestAt(...path: string[]): Manifest {
  return manifestSchema.parse(JSON.parse(readFileSync(join(...path), "utf8")));
}

function wav(world: FakeShow): string {
  mkdirSync(world.outDir, { recursive: true });
  const path = join(world.outDir, "speaker at home.wav");
  writeFileSync(path, plainWav(1000));
  return path;
}

describe("each named file has a manifest beside it", () => {
  test("that lists the steps that led to it, their requests and their costs", async () => {
    const world = await openFakeShow();
    const { report } = await world.run(pictures, { look: "a lighthouse" });
    expect(report.steps[1]?.outputs[0]).toMatchObject({ file: "hero.png", manifest: "hero.png.json" });
    const manifest = manifestAt(world.outDir, "hero.png.json");
    expect(manifest).toMatchObject({
      manifest: 1,
      showrunner: expect.stringMatching(/^\d+\.\d+\.\d+/),
      file: { name: "hero.png", content_type: "image/png", size_bytes: OUTPUT_BYTES },
      made_by: { step: "hero", output: 0 },
      pipeline: "pictures",
      run: "x",
      profile: null,
      service: { base_url: "https://paper.test/v3" },
      input: { look: "a lighthouse" },
      models: ["image-1"],
      cost: "0.20",
      voice_consent: null,
    });
    expect(manifest.steps.map(({ path }) => path)).toEqual(["base", "hero"]);
    const [base, hero] = manifest.steps;
    expect(base).toMatchObject({ kind: "job", model: "image-1", seed: 7, input: { prompt: "a lighthouse" } });
    expect(base?.attempts).toEqual([{ n: 1, job_id: "job_1", status: "completed", cost: "0.10" }]);
    const taken = { step: "base", output: 0, sha256: base?.outputs[0]?.sha256 };
    expect(hero?.input).toEqual({ prompt: "closer", images: [taken] });
    expect(manifest.file.sha256).toBe(hero?.outputs[0]?.sha256);
  });

  test("with the hash of an input that is too large to stand beside every file", async () => {
    const world = await openFakeShow();
    const rows = Array.from({ length: 2_000 }, (_, index) => `picture ${index}`);
    const first = pipeline("first-row", {
      input: z.object({ rows: z.array(z.string()) }),
      build: ({ input, job }) => ({ hero: job("hero", models.image, { prompt: input.rows[0]! }) }),
    });
    await world.run(first, { rows });
    const manifest = manifestAt(world.outDir, "hero.png.json");
    const hash = createHash("sha256").update(JSON.stringify({ rows })).digest("hex");
    expect(manifest).toMatchObject({ input: null, input_sha256: hash });
    expect(manifest.steps[0]?.input).toEqual({ prompt: "picture 0" });
  });

  test("unless the run has manifests off", async () => {
    const world = await openFakeShow();
    const { report } = await world.run(pictures, { look: "x" }, { manifests: false });
    expect(readdirSync(world.outDir)).toEqual(["hero.png"]);
    expect(report.steps[1]?.outputs[0]?.manifest).toBeNull();
  });

  test("without secrets, presigned URLs and the places of local files [G50]", async () => {
    const world = await openFakeShow();
    const look = "like https://me:pass@shop.test/pic.png?X-Amz-Signature=s1gnature#top with Key key_1:supersecretvalue";
    await world.run(pictures, { look, apiKey: "anything at all" });
    const text = readFileSync(join(world.outDir, "hero.png.json"), "utf8");
    expect(JSON.parse(text).input).toEqual({
      look: "like https://shop.test/pic.png with [redacted]",
      apiKey: "[redacted]",
    });
    expectAbsent(text, ["s1gnature", "pass@", "supersecretvalue", "anything at all", "files/"]);
  });

  test.each(["is made", "is lost"] as const)(
    "the same to the byte after a death with its placement, whose commit %s",
    async (fate) => {
      const { journal, paidService } = await openFakeShow();
      const { store, died } = dyingWithPlacement(journal, fate);
      const world = await openFakeShow({ paidService, journal: store });
      const running = world.show.run(pictures, { look: "x" }, { id: "x", outDir: world.outDir });
      await during(world.clock, Promise.race([running.then((handle) => handle.result()), died]));
      const path = join(world.outDir, "hero.png.json");
      const before = readFileSync(path, "utf8");
      const heirs = new CrashInjector(Number.POSITIVE_INFINITY).store(journal);
      const heir = await openFakeShow({ paidService, journal: heirs, mediaDir: world.mediaDir });
      await heir.resume();
      expect(readFileSync(path, "utf8")).toBe(before);
    },
  );
});

/** The journal of a process that dies with the commit that says where its file is. */
function dyingWithPlacement(journal: JournalStore, fate: "is made" | "is lost") {
  const { promise: died, resolve: die } = Promise.withResolvers<void>();
  const store = overriding(journal, {
    async commit(what) {
      const isPlacement = what.events.some(({ type }) => type === "file.placed");
      const outcome = isPlacement && fate === "is lost" ? null : await journal.commit(what);
      if (!isPlacement) return outcome!;
      die();
      return new Promise<never>(() => {});
    },
  });
  return { store, died };
}

describe("of steps of every kind, a manifest", () => {
  test("has what led to the file and only that: the chosen of many, the value that steps came from, the decisions", async () => {
    const world = await openFakeShow({ says: () => STORY });
    const decision = { pick: 1, note: "see https://x.test/a?sig=secret" };
    const { status, report } = await runDecided(world, { sample: wav(world) }, {}, decision);
    expect(status).toBe("succeeded");
    const files = report.steps.flatMap(({ path, outputs }) =>
      outputs.flatMap(({ file }) => (file ? [{ path, file }] : [])),
    );
    expect(files.length).toBeGreaterThan(3);
    for (const { path, file } of files) {
      const manifest = manifestAt(world.outDir, `${file}.json`);
      expect(manifest.made_by.step).toBe(path);
      const paths = manifest.steps.map((step) => step.path);
      const needs = new Map(report.steps.map((step) => [step.path, step]));
      for (const one of paths) expect(needs.has(one)).toBe(true);
      expect(new Set(paths).size).toBe(paths.length);
      expect(JSON.stringify(manifest)).not.toContain("sig=secret");
    }
    const graded = files.find(({ path }) => path.startsWith("shots/grade"))!;
    const { steps, models: used } = manifestAt(world.outDir, `${graded.file}.json`);
    const paths = steps.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(["story", "cast", "lead", "go", "face/1"]));
    // Takes that nobody picked, and other shots, led to nothing.
    expect(paths).not.toContain("face/2");
    expect(paths.filter((path) => path.startsWith("shots/draw"))).toHaveLength(1);
    expect(steps.find(({ path }) => path === "lead")).toMatchObject({
      chosen: { step: "cast", index: 1 },
      approval: { approved: true, note: "see https://x.test/a" },
    });
    expect(steps.find(({ path }) => path === "story")?.value).toMatchObject({ title: "The harbour" });
    expect(used).toContain("chat-1");
  });
});

describe("of what was reused from an earlier run, a manifest", () => {
  test("names the run that produced it, and a cost of zero here", async () => {
    const world = await openFakeShow();
    await world.run(pictures, { look: "x" }, { id: "one" });
    const outDir = join(world.outDir, "two");
    await world.run(pictures, { look: "x" }, { id: "two", reuse: true, outDir });
    const manifest = manifestAt(outDir, "hero.png.json");
    expect(manifest.cost).toBe("0.00");
    expect(manifest.steps.map(({ reused_from }) => reused_from?.run)).toEqual(["one", "one"]);
    expect(manifest.created_at).toBe(manifest.steps[1]?.reused_from?.made_at);
  });
});

describe("where a voice was cloned, a manifest", () => {
  test("says so when nobody stated that the speaker agreed", async () => {
    const world = await openFakeShow();
    await world.run(avatar(), { sample: wav(world) });
    const manifest = manifestAt(world.outDir, "speech.png.json");
    expect(manifest.voice_consent).toEqual({
      note: "This file contains cloned voices, but the speaker's consent is not recorded for voice.",
      voices: [{ step: "voice", voice_id: expect.stringMatching(/^voice_/), statement: null }],
    });
    expect(manifest.input).toEqual({ sample: { file: "speaker at home.wav", kind: "audio" } });
    expect(JSON.stringify(manifest)).not.toContain(world.outDir);
  });

  test.each([
    ["pipeline", { pipeline: "signed release 7" }, "signed release 7"],
    ["step rather", { pipeline: "signed release 7", step: "said so on tape" }, "said so on tape"],
  ])("holds what the %s says", async (_, consent, statement) => {
    const world = await openFakeShow();
    await world.run(avatar(consent), { sample: wav(world) });
    const { voice_consent } = manifestAt(world.outDir, "speech.png.json");
    expect(voice_consent?.voices[0]?.statement).toBe(statement);
    expect(voice_consent?.note).toContain("which has not been verified");
  });
});

describe("what is cleaned", () => {
  test("keeps every value that is no secret as it is", () => {
    const plain = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("://"));
    fc.assert(
      fc.property(plain, (value) => {
        const names = JSON.stringify(value).match(/secret|pass|key|token|auth|cred|cookie|path/i);
        if (names === null) expect(cleanJson(value as Json)).toEqual(value);
      }),
    );
  });
});
