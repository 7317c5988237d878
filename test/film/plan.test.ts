/** What a step will surely refuse is said in the plan, before anything is paid. */

import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join as at } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { greyPng, plainWav } from "../../src/core/kit/placeholder-media.ts";
import { findFfmpeg } from "../../src/film/ffmpeg/abilities.ts";
import { lookAt } from "../../src/film/graph/clip.ts";
import { audiogram, join, overlay, slideshow } from "../../src/film/index.ts";
import { type Builder, type Problem, pipeline } from "../../src/index.ts";
import { localShow } from "../support/local-show.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { drawClip, ffmpeg } from "./support/ffmpeg.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
const world = localShow();

async function problemsOf(build: (builder: Builder<object>) => object): Promise<readonly Problem[]> {
  const given = pipeline("given", { input: z.object({}), build: build as never });
  return (await world.show.quote(given, {})).problems;
}

describe("a medium that cannot be read", () => {
  let real: string;
  beforeAll(async () => {
    real = (await findFfmpeg())!.path;
    await drawClip(path("clip.mp4"));
    writeFileSync(path("picture.png"), greyPng(64));
    writeFileSync(path("photo.heic"), Buffer.from("\0\0\0\x18ftypheic\0\0\0\0mif1heic", "latin1"));
    const wide = Buffer.from("RIFF\x12\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x3f\0\0\x3f\0\0", "latin1");
    writeFileSync(path("moving.webp"), wide);
    writeFileSync(path("cut.mp4"), Buffer.from("\0\0\0\x14ftypisom\0\0\x02\0isom", "latin1"));
    const pq = ["-color_trc", "smpte2084", "-color_primaries", "bt2020", "-colorspace", "bt2020nc"];
    await ffmpeg("-v", "error", "-f", "lavfi", "-i", "color=white:s=64x64:d=0.2", ...pq, path("hdr.mp4"));
  });
  afterEach(() => vi.unstubAllEnvs());

  /** An ffmpeg that says that it was built without something. */
  const without = (what: string) => {
    const script = `#!/bin/sh\ncase "$*" in *-filters|*-codecs) "${real}" "$@" | grep -v " ${what} ";; *) exec "${real}" "$@";; esac\n`;
    writeFileSync(path(`without-${what}`), script);
    chmodSync(path(`without-${what}`), 0o755);
    vi.stubEnv("FFMPEG_PATH", path(`without-${what}`));
  };

  test.each([
    ["a photograph of a phone", "photo.heic", /^photo\.heic is a HEIC image, .*save it as JPEG or PNG/],
    ["a picture that moves", "moving.webp", /^moving\.webp is an animated WebP, .*save it as a GIF or a video/],
  ])("is named by its format in the plan, with the field that it stands in: %s", async (_, name, message) => {
    const found = await problemsOf(({ task, upload }) => {
      const pictures = ["picture.png", name].map((file, index) => upload(`p${index}`, path(file)));
      return { film: slideshow(task, "film", pictures as never) };
    });
    expect(found).toEqual([
      { code: "unread-media", step: "film", field: "input.pictures[1]", message: expect.stringMatching(message) },
    ]);
  });

  test("is refused as a logo and as a card too", async () => {
    const found = await problemsOf(({ task, upload }) => {
      const picture = upload("photo", path("photo.heic")) as never;
      const film = upload("clip", path("clip.mp4")) as never;
      return {
        a: overlay(task, "a", film, { logo: { picture } }),
        b: overlay(task, "b", film, { endCard: { picture } }),
      };
    });
    expect(found.map(({ step, field }) => [step, field])).toEqual([
      ["a", "input.logo.picture"],
      ["b", "input.endCard.picture"],
    ]);
  });

  test("by this build of ffmpeg is named by its coding, and HDR by its curve", async () => {
    const joined = (name: string) =>
      problemsOf(({ task, upload }) => ({ film: join(task, "film", [upload("clip", path(name)) as never]) }));
    expect(await joined("hdr.mp4")).toEqual([]);
    without("zscale");
    expect(await joined("clip.mp4")).toEqual([]);
    expect((await joined("hdr.mp4"))[0]!.message).toMatch(/^hdr\.mp4 is HDR \(PQ\), but .*built without zscale/);
    without("h264");
    expect((await joined("clip.mp4"))[0]!.message).toMatch(
      /^clip\.mp4 is encoded as h264, but .*without a decoder for this format/,
    );
  });

  test("because it is cut short is damaged in the plan already", async () => {
    const found = await problemsOf(({ task, upload }) => ({
      film: join(task, "film", [upload("clip", path("cut.mp4")) as never]),
    }));
    expect(found[0]!.message).toMatch(/^cut\.mp4/);
  });
});

describe("a medium with nothing in it", () => {
  beforeAll(async () => {
    writeFileSync(path("empty.png"), greyPng(0));
    writeFileSync(path("empty.wav"), plainWav(0));
    const none = ["-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x64:r=10", "-t", "0"];
    for (const name of ["empty.mp4", "empty.webm"]) await ffmpeg(...none, path(name));
    await ffmpeg("-v", "error", "-f", "lavfi", "-i", "sine", "-t", "0", path("empty.flac"));
  });

  test.each([
    ["empty.wav", /empty\.wav: it contains no audio \(audio\/wav, 0 ms\); check the path/],
    ["empty.flac", /empty\.flac: it contains no audio \(audio\/flac, 0 ms\); check the path/],
    ["empty.png", /empty\.png: it contains no pixels \(image\/png\); check the path/],
    ["empty.mp4", /empty\.mp4: it contains no video or audio \(video\/mp4, 0 ms\); check the path/],
    ["empty.webm", /empty\.webm: it contains no video or audio \(video\/webm, 0 ms\); check the path/],
  ])("is refused in the plan, whatever would use it: %s", async (name, message) => {
    const found = await problemsOf(({ task, upload }) => {
      const medium = upload("medium", path(name)) as never;
      return { film: audiogram(task, "film", medium, { picture: medium }) };
    });
    expect(found[0]).toEqual({
      code: "missing-file",
      step: "medium",
      field: "file",
      message: expect.stringMatching(message),
    });
  });
});

describe("looking at the files of a plan", () => {
  const begun = () => readFileSync(path("log"), "utf8").split("\n").filter(Boolean);
  /** An ffprobe that notes when it begins to look at a file, then does this. */
  const probing = async (then: string) => {
    const { probePath } = (await findFfmpeg())!;
    const look = `echo + >>"${path("log")}"; ${then.replaceAll("REAL", `"${probePath}"`)}`;
    const script = `#!/bin/sh\ncase "$*" in *-show_entries*) ${look};; *) exec "${probePath}" "$@";; esac\n`;
    writeFileSync(path("log"), "");
    writeFileSync(path("ffprobe"), script, { mode: 0o755 });
    vi.stubEnv("FFPROBE_PATH", path("ffprobe"));
  };
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });

  test("starts a few programs at once, however many there are", async () => {
    await probing(`REAL "$@"; sleep 0.1; echo - >>"${path("log")}"`);
    const names = Array.from({ length: 12 }, (_, index) => `many-${index}.png`);
    for (const name of names) writeFileSync(path(name), greyPng(64));
    const found = await problemsOf(({ task, upload }) => ({
      film: slideshow(task, "film", names.map((name, index) => upload(`p${index}`, path(name))) as never),
    }));
    expect(found).toEqual([]);
    let now = 0;
    const counts = begun().map((sign) => (sign === "+" ? ++now : --now));
    expect(counts.filter((_, index) => begun()[index] === "+")).toHaveLength(12);
    expect(Math.max(...counts)).toBeLessThanOrEqual(4);
  });

  test("names an AVIF that an old ffmpeg reads as a picture without a size, and does not call it damaged", async () => {
    writeFileSync(path("photo.avif"), Buffer.from("\0\0\0\x18ftypavif\0\0\0\0avifmif1", "latin1"));
    const stream = { codec_type: "video", codec_name: "av1", width: 0, height: 0 };
    await probing(`echo '${JSON.stringify({ streams: [stream], format: { format_name: "mov,mp4,m4a" } })}'`);
    const fault = expect.stringMatching(/^photo\.avif is an AVIF image that .* cannot read; save it as JPEG or PNG$/);
    expect(await lookAt(path("photo.avif"))).toEqual({ fault });
  });

  test("that takes too long proves nothing of a file, and is done again", async () => {
    writeFileSync(path("slow.png"), greyPng(64));
    await probing("exec sleep 1000");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    for (const times of [1, 2]) {
      const looking = lookAt(path("slow.png"));
      while (begun().length < times) await delay(5);
      await vi.advanceTimersByTimeAsync(31_000);
      expect(await looking).toBeNull();
    }
  });
});
