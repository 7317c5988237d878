import { describe, expect, test } from "vitest";
import type { Json, Yield } from "../../src/plan/plan.ts";
import { workOf } from "../../src/plan/work.ts";
import { job } from "../run/support/plans.ts";
import { chat, task, valueRef } from "../run/support/steps.ts";

/** Of a job whose input has just these fields. */
function work(input: Json, yields: Yield = "video") {
  return workOf({ ...job("a"), input, yields } as ReturnType<typeof job>);
}
const amount = (input: Json, yields?: Yield) => work(input, yields).amount;

describe("how much a request asks for", () => {
  test.each([
    [{ duration: 5 }, 5],
    [{ duration: "5" }, 5],
    [{ duration: "2.5s" }, 2.5],
    [{ duration_ms: 2500 }, 2.5],
    [{ length: 3, num_outputs: 2 }, 6],
    [{ num_seconds: 4 }, 4],
    [{ seconds_s: 7 }, 7],
    [{ duration: 0 }, 1],
    [{ duration: -1 }, 1],
    [{ duration: "auto" }, 1],
    [{ duration: "5 s" }, 1],
    [{ duration: "x5" }, 1],
    [{ my_duration: 5 }, 1],
    [{ duration_of: 5 }, 1],
    [{ num_images: 3, n: 2, batch_size: 5, num_videos: 7 }, 210],
    [{ n: "2" }, 1],
    [{ width: 1000, height: 500 }, 0.5],
    [{ width: "wide" }, 1],
  ])("counts seconds, outputs and pixels: %j", (input, expected) => {
    expect(amount(input)).toBeCloseTo(expected, 10);
  });

  test.each([
    ["720p", 0.9216],
    ["1080P", 2.0736],
    ["4K", 8.2944],
    ["2k", 2.0736],
    ["1024x768", 0.786432],
    ["1024*768", 0.786432],
    ["100×10", 0.001],
    ["hd", 1],
    ["x720p", 1],
    ["720px", 1],
    ["12345p", 1],
    [4, 1],
  ])("in megapixels: %s", (resolution, expected) => {
    for (const name of ["resolution", "size", "image_size", "video_size", "quality"])
      expect(amount({ [name]: resolution })).toBeCloseTo(expected, 10);
    expect(amount({ sizes: resolution, "a size": resolution })).toBe(1);
  });

  test("is what the shots add up to, five seconds for one that does not say, unless the whole has a length", () => {
    const shots = [
      { duration: 3 },
      { duration_ms: 2500, prompt: "b" },
      { prompt: "c" },
      "d",
      null,
      { duration: "long" },
    ];
    expect(amount({ shots })).toBe(3 + 2.5 + 4 * 5);
    expect(amount({ multi_prompt: ["a", "b"] })).toBe(10);
    expect(amount({ shots, duration: 4 })).toBe(4);
    expect(amount({ shots: "two" })).toBe(1);
  });

  test("is the characters where they are spoken, all together", () => {
    const input = { text: "hello", lyrics: "la", speed: 2 };
    expect(amount(input, "audio")).toBe(7);
    expect(amount(input, "voice")).toBe(7);
    expect(amount(input, "video")).toBe(1);
    expect(amount({ text: "", duration: 2 }, "audio")).toBe(2);
    expect(amount({ text: "four", n: 3 }, "audio")).toBe(12);
    expect(amount({ context: "long enough" }, "audio")).toBe(1);
  });

  test("is not known where an earlier step decides it", () => {
    const open = valueRef("v") as unknown as Json;
    const built = { $text: ["a", open] };
    for (const value of [open, built]) {
      expect(amount({ duration: value, n: 2 })).toBeNull();
      expect(amount({ n: 2, seconds: value, width: 3 })).toBeNull();
      expect(amount({ script: value }, "audio")).toBeNull();
      expect(amount({ script: value }, "video")).toBe(1);
      expect(amount({ image: value })).toBe(1);
    }
    expect(amount({ duration: { any: 1 } })).toBe(1);
    expect(amount({ duration: null })).toBe(1);
  });
});

describe("what else may decide how long it takes", () => {
  test("are its settings in the order of their names; of what is no short plain value only that it is there", () => {
    const input = {
      quality: "pro",
      fps: 24,
      image: { $ref: 1 },
      audio: true,
      style: "x".repeat(40),
      voice: "y".repeat(41),
    };
    expect(work(input).settings).toBe(`audio=true fps=24 image quality=pro style=${"x".repeat(40)} voice`);
  });

  test("not its words, and nothing that is counted", () => {
    const words = {
      prompt: "a",
      negative_prompt: "b",
      script: "c",
      lyrics: "d",
      caption: "e",
      title: "f",
      seed: 4,
      message: "g",
    };
    expect(work({ ...words, duration: 5, resolution: "720p", shots: [1] })).toMatchObject({ settings: "" });
    expect(work({ duration: "auto", resolution: "hd" }).settings).toBe("duration=auto resolution=hd");
  });

  test("has an end", () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field${index}`, index]));
    expect(work(many).settings).toHaveLength(200);
  });
});

test("a local function has no measure; what was sent counts rather than what was planned", () => {
  expect(workOf(task("cut", { duration: 5 }))).toEqual({ settings: "", amount: 1 });
  expect(workOf(chat("talk", {}, 0, { n: 3 }))).toEqual({ settings: "", amount: 3 });
  expect(workOf(job("a", { duration: 5 }), { duration: 7, mode: "fast" })).toEqual({
    settings: "mode=fast",
    amount: 7,
  });
  for (const sent of ["text", null, [1, 2]]) expect(work(sent)).toEqual({ settings: "", amount: 1 });
});
