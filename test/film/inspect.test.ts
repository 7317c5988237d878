import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { greyPng } from "../../src/core/kit/placeholder-media.ts";
import { type Checks, inspect, inspector } from "../../src/film/index.ts";
import { pipeline } from "../../src/index.ts";
import { during, openFakeShow } from "../support/fake-showrunner.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { ffmpeg } from "./support/ffmpeg.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let folder: string;
const at = (name: string) => join(folder, name);

const moving = "testsrc2=s=160x120:r=10";
const speech = "sine=f=300:r=16000";
/** Sources by the file's name: pictures, sound, seconds. */
const made: Readonly<Record<string, readonly [pictures: string | null, sound: string | null]>> = {
  "right.mp4": [`${moving}:d=5`, `${speech}:d=5`],
  "black.mp4": ["color=black:s=160x120:r=10:d=5", `${speech}:d=5`],
  "blackout.mp4": [`${moving}:d=5,drawbox=c=black:t=fill:enable='between(t,2,4)'`, `${speech}:d=5`],
  "frozen.mp4": [`${moving}:d=1,tpad=stop=40:stop_mode=clone`, `${speech}:d=5`],
  "silent.mp4": [`${moving}:d=5`, "anullsrc=r=16000:d=5"],
  "pause.mp4": [`${moving}:d=5`, `${speech}:d=5,volume=0:enable='between(t,1,4)'`],
  "mute.mp4": [`${moving}:d=5`, null],
  "speech.wav": [null, `${speech}:d=3`],
  "black.png": ["color=black:s=64x64:d=0.1", null],
  "grey.png": ["color=gray:s=64x64:d=0.1", null],
};

beforeAll(async () => {
  folder = newFolder();
  for (const [name, [pictures, sound]] of Object.entries(made)) {
    const inputs = [pictures, sound].flatMap((source) => (source === null ? [] : ["-f", "lavfi", "-i", source]));
    await ffmpeg("-v", "error", ...inputs, ...(name.endsWith(".png") ? ["-frames:v", "1"] : []), at(name));
  }
  await writeFile(at("damaged.mp4"), "\0\0\0\x18ftypisom and nothing else");
});

const flaws = (name: string, checks: Checks) => {
  const made = { path: at(name), sha256: "", contentType: "", sizeBytes: 0, index: 0 };
  return inspector(checks)({ ...made, signal: AbortSignal.timeout(60_000) });
};

const all: Checks = {
  notBlack: true,
  notFrozen: true,
  notSilent: true,
  seconds: [4, 6],
  size: "160x120",
  speech: true,
};

describe("an inspection", () => {
  test.each<readonly [string, Checks, readonly string[]]>([
    ["right.mp4", all, []],
    ["black.mp4", all, ["it is black from 0 s to 4.9 s", "its video is frozen from 0 s to 5 s"]],
    ["blackout.mp4", { notBlack: true }, ["it is black from 2 s to 4.1 s"]],
    ["blackout.mp4", { notBlack: 3 }, []],
    ["frozen.mp4", { notBlack: true, notFrozen: true }, ["its video is frozen from 0.9 s to 5 s"]],
    ["silent.mp4", { notSilent: true }, ["it is silent from 0 s to 5 s"]],
    ["pause.mp4", { notSilent: true, notBlack: true }, ["it is silent from 1 s to 4 s"]],
    ["pause.mp4", { notSilent: 4 }, []],
    ["silent.mp4", { speech: true }, ["it has no speech: only 0 s of its audio is as loud as speech"]],
    ["mute.mp4", { notSilent: true }, ["it has no audio"]],
    [
      "right.mp4",
      { seconds: [1, 2], size: "1080x1920" },
      ["it is 5 s long; expected 1 to 2 s", "it has 160x120; expected 1080x1920"],
    ],
    ["speech.wav", { notSilent: true, speech: true, seconds: [2, 4] }, []],
    ["speech.wav", { notBlack: true }, ["it has no video"]],
    ["black.png", { notBlack: true }, ["it is black"]],
    ["grey.png", { notBlack: true, size: "64x64" }, []],
  ])("of %s by %o finds %o", async (name, checks, expected) => {
    expect(await flaws(name, checks)).toEqual(expected);
  });

  test("of a damaged file says so", async () => {
    await expect(flaws("damaged.mp4", { notBlack: true })).rejects.toThrow(/the output is damaged/);
  });

  test("fails if whoever judges does not say what is wrong", async () => {
    const judge = (() => false) as never;
    await expect(flaws("right.mp4", { judge })).rejects.toThrow(
      "`judge` must return null or a description of the problem, not false",
    );
  });

  test("shows three frames to whoever judges, once nothing else is wrong", async () => {
    const seen: (readonly Uint8Array[])[] = [];
    const judge = (frames: readonly Uint8Array[]) => {
      seen.push(frames);
      return "the logo is missing";
    };
    expect(await flaws("right.mp4", { judge })).toEqual(["the logo is missing"]);
    expect(await flaws("black.mp4", { notBlack: true, judge })).toHaveLength(1);
    expect(seen).toHaveLength(1);
    expect(seen[0]!.map((frame) => Buffer.from(frame.subarray(0, 3)).toString("hex"))).toEqual([
      "ffd8ff",
      "ffd8ff",
      "ffd8ff",
    ]);
    expect(new Set(seen[0]!.map((frame) => Buffer.from(frame).toString("base64"))).size).toBe(3);
  });

  test("by what is no check is refused while the pipeline is planned", () => {
    for (const checks of [{ notBlue: true }, { seconds: [6, 4] }, { size: "big" }, { notBlack: -1 }, { judge: 1 }])
      expect(() => inspector(checks as never)).toThrow(expect.objectContaining({ code: "FILM_INPUT" }));
  });
});

/** A still that is looked at, and what is made of it. */
const pictures = (by: "accept" | "step", onFailure: "continue" | "failFast" = "continue") =>
  pipeline("pictures", {
    input: z.object({}),
    onFailure,
    build({ job, choose }) {
      const [ask, look] = [{ prompt: "a boat" }, { notBlack: true }];
      const still =
        by === "accept"
          ? job("still", models.image, ask, { accept: inspector(look), acceptAttempts: 2 })
          : inspect(choose, "ok", job("still", models.image, ask), look);
      return { closer: job("closer", models.image, { prompt: "closer", images: [still] }) };
    },
  });

describe("in a run", () => {
  async function ran(by: "accept" | "step", dark: number, policy?: "failFast") {
    const world = await openFakeShow();
    const bytes = await readFile(at("black.png"));
    let left = dark;
    world.paidService.picture = (digest) => (left-- > 0 ? bytes : greyPng(64, digest.charCodeAt(0)));
    const handle = await during(
      world.clock,
      world.show.run(pictures(by, policy), {}, { id: "x", outDir: world.outDir }),
    );
    const result = await during(world.clock, handle.result());
    const reason = (path: string) => result.report.steps.find((step) => step.path === path)?.reason ?? null;
    return { status: result.status, jobs: world.paidService.jobs.size, reason };
  }

  test("a flaw fails the step before anything that uses it is bought", async () => {
    const { status, jobs, reason } = await ran("step", 1);
    expect([status, jobs, reason("ok")]).toEqual(["failed", 1, "it is black"]);
  });

  test("what is right goes on, for no more", async () => {
    expect(await ran("step", 0)).toMatchObject({ status: "succeeded", jobs: 2 });
    expect(await ran("accept", 0)).toMatchObject({ status: "succeeded", jobs: 2 });
  });

  test.each([undefined, "failFast"] as const)("with accept, one more is made, also under %s", async (policy) => {
    const { status, jobs, reason } = await ran("accept", 1, policy);
    expect([status, jobs, reason("still/1-ok")]).toEqual(["succeeded", 3, "it is black"]);
  });

  test("with accept, the last flaw stops a run that is to fail fast", async () => {
    const { status, jobs, reason } = await ran("accept", 2, "failFast");
    expect([status, jobs, reason("still/2-ok")]).toEqual(["failed", 2, "it is black"]);
  });
});
