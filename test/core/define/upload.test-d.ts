import { expectTypeOf, test } from "vitest";
import type { KindOfPath } from "../../../src/core/define/steps/upload.ts";

test("the ending of a path says its kind, for every format that uploads may have", () => {
  type Image = KindOfPath<"a.png" | "a.jpg" | "a.jpeg" | "a.webp" | "a.gif" | "a.avif">;
  type Video = KindOfPath<"a.mp4" | "a.mov" | "a.webm">;
  type Audio = KindOfPath<"a.wav" | "a.mp3" | "a.m4a" | "a.ogg" | "a.FLAC">;
  expectTypeOf<[Image, Video, Audio, KindOfPath<"a.txt">]>().toEqualTypeOf<["image", "video", "audio", "unknown"]>();
});
