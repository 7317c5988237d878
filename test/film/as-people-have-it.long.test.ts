/** Media in the forms of phones, browsers, recorders and speech services. */

import { readFileSync, writeFileSync } from "node:fs";
import { join as at } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { measureMedia } from "../../src/core/engine/media/media-reader.ts";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { audiogram, caption, join, mix, overlay, reframe, slideshow, thumbnail, trim } from "../../src/film/index.ts";
import { isFull, sampled } from "../support/sample.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { draw as drawAt, ffmpeg } from "./support/ffmpeg.ts";
import { fileOf, make } from "./support/film-step.ts";
import { colorAt, gapsOf } from "./support/measure.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
const image = (name: string) => fileOf("image", path(name));
const video = (name: string) => fileOf("video", path(name));
const audio = (name: string) => fileOf("audio", path(name));
const draw = (name: string, source: string, ...more: readonly string[]) => drawAt(path(name), source, ...more);

describe("a picture that EXIF turns", () => {
  /** Filters that undo what each orientation says. */
  const laid = [
    "null", "hflip", "hflip,vflip", "vflip", "transpose=cclock_flip", "transpose=cclock", "transpose=clock_flip", "transpose=clock",
  ] as const; // biome-ignore format: one line
  const names = ["1.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg", "6.jpg", "7.jpg", "8.jpg", "6.png", "3.png", "6.webp", "3.webp", "6.tiff", "3.tiff"]; // biome-ignore format: one line
  const exif = (orientation: number) => {
    const tiff = Buffer.from("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0", "latin1");
    tiff.writeUInt16BE(orientation, 18);
    return tiff;
  };
  const size = (bytes: Buffer, isLittle = false) => {
    const four = Buffer.alloc(4);
    if (isLittle) four.writeUInt32LE(bytes.length);
    else four.writeUInt32BE(bytes.length);
    return four;
  };
  const withExif = {
    jpg(bytes: Buffer, orientation: number) {
      const block = Buffer.concat([Buffer.from("Exif\0\0"), exif(orientation)]);
      const length = Buffer.from([0, block.length + 2]);
      return Buffer.concat([bytes.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, block, bytes.subarray(2)]);
    },
    png(bytes: Buffer, orientation: number) {
      const block = exif(orientation);
      const head = bytes.subarray(0, 33);
      return Buffer.concat([head, size(block), Buffer.from("eXIf"), block, Buffer.alloc(4), bytes.subarray(33)]);
    },
    /** Its directory again, at the end, with one entry more. */
    tiff(bytes: Buffer, orientation: number) {
      const [at, entry] = [bytes.readUInt32LE(4), Buffer.from("\x12\x01\x03\0\x01\0\0\0\0\0\0\0", "latin1")];
      entry.writeUInt16LE(orientation, 8);
      const old = Array.from({ length: bytes.readUInt16LE(at) }, (_, index) => bytes.subarray(at + 2 + 12 * index, at + 14 + 12 * index)); // biome-ignore format: one line
      const entries = [...old, entry].toSorted((a, b) => a.readUInt16LE(0) - b.readUInt16LE(0));
      const head = Buffer.from([...bytes.subarray(0, 4), 0, 0, 0, 0]);
      head.writeUInt32LE(bytes.length, 4);
      return Buffer.concat([head, bytes.subarray(8), Buffer.from([entries.length, 0]), ...entries, Buffer.alloc(4)]);
    },
    webp(bytes: Buffer, orientation: number) {
      const { width, height } = { width: bytes.readUInt16LE(26) - 1, height: bytes.readUInt16LE(28) - 1 };
      const wide = Buffer.from([8, 0, 0, 0, width & 255, width >> 8, 0, height & 255, height >> 8, 0]);
      const block = exif(orientation);
      const parts = [Buffer.from("WEBPVP8X"), size(wide, true), wide, bytes.subarray(12), Buffer.from("EXIF"), size(block, true), block]; // biome-ignore format: one line
      const all = Buffer.concat(parts);
      return Buffer.concat([Buffer.from("RIFF"), size(all, true), all]);
    },
  };
  const drawn = "color=blue:s=160x80,drawbox=x=0:y=0:w=80:h=40:c=red:t=fill,drawbox=x=80:y=40:w=80:h=40:c=lime:t=fill";

  beforeAll(async () => {
    for (const name of names) {
      const [orientation = "1", type = "jpg"] = name.split(".");
      const turned = `${drawn},format=rgb24,${laid[Number(orientation) - 1]}`;
      await draw(name, turned, "-frames:v", "1", "-q:v", type === "jpg" ? "1" : "100");
      // ffmpeg writes EXIF into none of them.
      const bytes = withExif[type as keyof typeof withExif](readFileSync(path(name)), Number(orientation));
      writeFileSync(path(name), bytes);
    }
  });

  /** The four quarters of a frame. */
  const quarters = async (file: string, seconds: number) => {
    const filter = "format=gbrp,scale=2:2:flags=area,format=rgb24";
    const args = ["-v", "error", "-ss", String(seconds), "-i", file, "-frames:v", "1", "-vf", filter];
    await ffmpeg(...args, "-f", "rawvideo", path("quarters.rgb"));
    return [...readFileSync(path("quarters.rgb"))].map((level) => (level > 200 ? 1 : level < 60 ? 0 : level));
  };
  const [red, lime, blue] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] as const; // biome-ignore format: one line

  test("as any orientation says is measured and shown upright, whatever reads it", async () => {
    for (const name of names) {
      expect((await probe(path(name))).video).toMatchObject({ width: 160, height: 80 });
      expect(await measureMedia(path(name), "image")).toMatchObject({ width: 160, height: 80 });
    }
    const shown = { size: "320x160", seconds: 0.2, fade: 0, zoom: 0, fps: 10 } as const;
    const { file } = await make(folder, (task) => slideshow(task, "s", names.map(image), shown));
    for (const [index, name] of names.entries())
      expect([name, await quarters(file(), index / 5 + 0.1)]).toEqual([name, [...red, ...blue, ...blue, ...lime]]);
  });

  test("is upright as a logo, as a card and behind a sound", async () => {
    await draw("gray.mp4", "color=gray:s=320x160:r=10:d=1", "-pix_fmt", "yuv420p");
    await draw("tone.wav", "sine=d=1");
    const made = await make(folder, (task) =>
      overlay(task, "o", video("gray.mp4"), {
        logo: { picture: image("8.jpg"), width: 0.5, corner: "top-left" },
        endCard: { picture: image("6.jpg"), seconds: 1, fade: 0.1, fit: "crop" },
      }),
    );
    expect(await quarters(made.file(), 1.6)).toEqual([...red, ...blue, ...blue, ...lime]);
    expect((await colorAt(made.file(), 0.5, "40:20:39:26"))[0]).toBeGreaterThan(235);
    expect((await colorAt(made.file(), 0.5, "20:20:120:20"))[2]).toBeGreaterThan(235);
    const wave = await make(folder, (task) =>
      audiogram(task, "a", audio("tone.wav"), { picture: image("6.png"), size: "320x160" }),
    );
    expect((await colorAt(wave.file(), 0.5, "80:40:20:20"))[0]).toBeGreaterThan(235);
  });
});

describe("colours", () => {
  const tags = async (file: string) => {
    const said = await ffmpeg("-i", file, "-frames:v", "1", "-f", "null", "-");
    return /Video: h264[^\n]*?yuv420p\(([^)]*)\)/.exec(said)?.[1];
  };
  const hdr = (name: string, transfer: string, level: number) =>
    draw(
      name,
      `color=black:s=320x180:d=0.5:r=10,format=yuv420p10le,geq=lum=${level}:cb=512:cr=512`,
      ...["-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params"],
      `log-level=none:colorprim=bt2020:transfer=${transfer}:colormatrix=bt2020nc:range=limited`,
    );
  const sdr = (name: string, color: string, filter: string, ...more: readonly string[]) =>
    draw(name, `color=${color}:s=320x180:d=0.5:r=10,format=rgb24,${filter}`, "-c:v", "libx264", "-qp", "4", ...more);
  const declared = (matrix: string, range: string) =>
    [
      ...["-colorspace", matrix, "-color_primaries", matrix === "bt2020nc" ? "bt2020" : matrix],
      ...["-color_trc", matrix === "bt2020nc" ? "bt2020-10" : matrix, "-color_range", range],
    ] as const;
  const as = (matrix: string, range: string, format: string) =>
    `scale=out_color_matrix=${matrix}:out_range=${range},format=${format}`;

  beforeAll(async () => {
    // White of paper: 75 % of HLG, 58 % of PQ.
    await hdr("hlg.mp4", "arib-std-b67", 721);
    await hdr("pq.mp4", "smpte2084", 573);
    for (const color of ["white", "red"]) {
      await sdr(`${color}-601-full.mp4`, color, as("smpte170m", "full", "yuvj420p"), ...declared("smpte170m", "pc"));
      await sdr(`${color}-709.mp4`, color, as("bt709", "tv", "yuv420p"), ...declared("bt709", "tv"));
      await sdr(`${color}-2020.mp4`, color, as("bt2020", "tv", "yuv420p10le"), ...declared("bt2020nc", "tv"));
      await sdr(`${color}-nothing.mp4`, color, as("smpte170m", "tv", "yuv420p"));
      for (const type of ["png", "jpg", "webp", "gif"])
        await draw(`${color}.${type}`, `color=${color}:s=320x180:d=0.5,format=rgb24`, "-frames:v", "1", "-q:v", type === "webp" ? "100" : "1"); // biome-ignore format: one line
    }
  });

  const isWhite = (levels: readonly number[]) => expect(Math.min(...levels)).toBeGreaterThanOrEqual(250);

  test("of HDR, of television and of full range join as one: white is white, and the film says what it is", async () => {
    const clips = ["hlg", "pq", "white-601-full", "white-709", "white-2020", "white-nothing"].map((name) =>
      video(`${name}.mp4`),
    );
    const { file } = await make(folder, (task) => join(task, "j", clips, { size: "240x240", fps: 10 }));
    for (const index of clips.keys()) isWhite(await colorAt(file(), index / 2 + 0.2, "100:50:70:95"));
    expect(await tags(file())).toBe("tv, bt709, progressive");
  });

  test("stay in every step, and the step says what they are", async () => {
    const steps = {
      reframe: (clip: string) => make(folder, (task) => reframe(task, "r", video(clip), { to: ["1:1"], fit: "pad" })),
      trim: (clip: string) => make(folder, (task) => trim(task, "t", video(clip), { to: 0.4 })),
      overlay: (clip: string) =>
        make(folder, (task) => overlay(task, "o", video(clip), { logo: { picture: image("red.png") } })),
      mix: (clip: string) => make(folder, (task) => mix(task, "m", video(clip), { music: audio("tone.wav") })),
      caption: (clip: string) =>
        make(folder, (task) =>
          caption(task, "c", video(clip), {
            lines: [{ text: "x", words: [{ text: "x", start: 0, end: 0.1 }] }],
          }),
        ),
    };
    await draw("tone.wav", "sine=d=1");
    for (const [name, step] of Object.entries(steps)) {
      const { file } = await step(name === "mix" ? "pq.mp4" : "white-601-full.mp4");
      isWhite(await colorAt(file(), 0.3, "40:40:140:80"));
      expect([name, await tags(file())]).toEqual([name, "tv, bt709, progressive"]);
    }
  });

  test("of a palette are those of its table, and what is transparent is black", async () => {
    const palette = "split[a][b];[a]palettegen[p];[b][p]paletteuse";
    await ffmpeg("-v", "error", "-f", "lavfi", "-i", `color=red:s=320x180:d=0.1,${palette}`, "-frames:v", "1", path("palette.png")); // biome-ignore format: one line
    for (const name of ["clear.png", "clear.webp"])
      await draw(name, "color=lime@0:s=320x180,format=rgba", "-frames:v", "1", ...(name === "clear.webp" ? ["-c:v", "libwebp", "-pix_fmt", "yuva420p"] : [])); // biome-ignore format: one line
    const pictures = ["palette.png", "clear.png", "clear.webp"].map(image);
    const shown = { size: "320x180", seconds: 0.5, fade: 0, fps: 10 } as const;
    const { file } = await make(folder, (task) => slideshow(task, "s", pictures, shown));
    const [red, green, blue] = await colorAt(file(), 0.2);
    expect(red).toBeGreaterThanOrEqual(245);
    expect(Math.max(green, blue)).toBeLessThanOrEqual(12);
    for (const seconds of [0.7, 1.2]) expect(Math.max(...(await colorAt(file(), seconds)))).toBeLessThanOrEqual(5);
  });

  test("of saturated pictures stay what they are, in films and in pictures of films", async () => {
    const isRed = ([red, green, blue]: readonly [number, number, number]) => {
      expect(red).toBeGreaterThanOrEqual(245);
      expect(Math.max(green, blue)).toBeLessThanOrEqual(12);
    };
    const pictures = ["png", "jpg", "webp", "gif"].map((type) => image(`red.${type}`));
    const shown = { size: "320x180", seconds: 0.5, fade: 0, fps: 10 } as const;
    const film = await make(folder, (task) => slideshow(task, "s", pictures, shown));
    for (const index of pictures.keys()) isRed(await colorAt(film.file(), index / 2 + 0.2));
    for (const name of ["red-709", "red-601-full", "red-nothing"]) {
      const picture = await make(folder, (task) => thumbnail(task, "t", video(`${name}.mp4`), { size: "160x90" }));
      const [red, green, blue] = await colorAt(picture.file(), 0);
      // Red of television before HD is another one than that of sRGB.
      const [least, most] = name === "red-601-full" ? [240, 24] : [250, 12];
      expect(red).toBeGreaterThanOrEqual(least);
      expect(Math.max(green, blue)).toBeLessThanOrEqual(most);
    }
    const logo = { picture: image("red.png"), width: 0.5, corner: "top-left" } as const;
    const branded = await make(folder, (task) => overlay(task, "o", video("white-709.mp4"), { logo }));
    isRed(await colorAt(branded.file(), 0.2, "40:20:40:30"));
  });
});

describe("recordings", () => {
  beforeAll(async () => {
    const sound = ["-f", "lavfi", "-i", "sine=f=440:d=2", "-c:a", "libopus"];
    const live = ["-f", "webm", "-live", "1", "-seekable", "0"];
    await draw("browser.webm", "testsrc2=s=320x240:r=15:d=2", ...sound, "-c:v", "libvpx", ...live);
    await ffmpeg("-v", "error", ...sound, ...live, path("voice.webm"));
    const long = ["-f", "lavfi", "-i", "sine=f=440:d=3", "-c:a", "libopus"];
    await draw("longer-sound.webm", "testsrc2=s=320x240:r=15:d=1", ...long, "-c:v", "libvpx", ...live);
    const fragments = ["-movflags", "frag_keyframe+empty_moov+default_base_moof", "-f", "mp4"];
    await draw("safari.mp4", "testsrc2=s=320x240:r=15:d=2", ...["-f", "lavfi", "-i", "sine=d=2"], "-pix_fmt", "yuv420p", ...fragments); // biome-ignore format: one line
    await draw("camera.mov", "testsrc2=s=320x240:r=25:d=2", ...["-f", "lavfi", "-i", "sine=d=2"], "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le"); // biome-ignore format: one line
    // Silence first, so that the first frames are the smallest.
    await draw("speech.mp3", "aevalsrc='if(lt(t,2),0,random(0))':d=4", "-q:a", "0", "-write_xing", "0", "-id3v2_version", "0"); // biome-ignore format: one line
    await draw("speech.aac", "aevalsrc='if(lt(t,2),0,random(0))':d=4", "-f", "adts");
    const names: readonly (readonly [string, ...string[]])[] = [
      ["voice.aiff"], ["voice.caf"], ["voice.m4a"], ["voice.ogg", "-c:a", "libopus"], ["voice.flac"], ["voice.wma"], ["voice.rf64.wav", "-rf64", "always"],
    ]; // biome-ignore format: one line
    for (const [name, ...more] of names) await draw(name, "sine=f=440:d=2", ...more);
    await draw("silent.mp4", "color=gray:s=320x240:r=10:d=1", "-pix_fmt", "yuv420p");
  });

  test("of browsers that say no length are as long as what is in them", async () => {
    expect(Math.abs((await probe(path("browser.webm"))).seconds - 2)).toBeLessThan(0.05);
    const { file } = await make(folder, (task) =>
      join(task, "j", [video("browser.webm"), video("safari.mp4")], { length: "pictures" }),
    );
    expect(Math.abs((await probe(file())).seconds - 4)).toBeLessThan(0.1);
    const { value } = await make(folder, (task) => join(task, "j", [video("longer-sound.webm")]));
    expect((value as { readonly seconds: number }).seconds).toBeCloseTo(3, 1);
  });

  const sounds = [
    ["voice.webm", 2],
    ["voice.aiff", 2],
    ["voice.caf", 2],
    ["voice.m4a", 2],
    ["voice.ogg", 2],
    ["voice.flac", 2],
    ["voice.wma", 2],
    ["voice.rf64.wav", 2],
    ["speech.mp3", 4],
    ["speech.aac", 4],
  ] as const;
  test.each(sampled(sounds, 6))("of sound alone are sound of their length: %s", async (name, seconds) => {
    // biome-ignore format: one line
    const probed = await probe(path(name));
    expect(probed.video).toBeNull();
    expect(Math.abs(probed.audio!.seconds - seconds)).toBeLessThan(0.08);
    const { value } = await make(folder, (task) => mix(task, "m", video("silent.mp4"), { voice: audio(name) }));
    expect(Math.abs((value as { readonly seconds: number }).seconds - seconds)).toBeLessThan(0.08);
  });

  test.each(isFull ? ["browser.webm", "camera.mov"] : ["camera.mov"])(
    "go through every step into a film that players take: %s",
    async (name) => {
      const clip = video(name);
      await draw("tone.wav", "sine=d=1");
      const words = [{ text: "x", start: 0, end: 0.1 }];
      const made = [
        await make(folder, (task) => mix(task, "m", clip, { music: audio("tone.wav") })),
        await make(folder, (task) => reframe(task, "r", clip, { to: ["1:1"] })),
        await make(folder, (task) => caption(task, "c", clip, { lines: [{ text: "x", words }] })),
        await make(folder, (task) => caption(task, "c", clip, { lines: [{ text: "x", words }], burn: false })),
      ];
      for (const { file } of made) {
        const probed = await probe(file());
        expect([probed.video!.codec, probed.audio!.codec]).toEqual(["h264", "aac"]);
        expect(Math.abs(probed.video!.seconds - 2)).toBeLessThan(0.08);
      }
    },
  );

  test("of television, whose clock starts late and has gaps, are as long as their pictures", async () => {
    const sound = ["-f", "lavfi", "-i", "sine=f=440:d=2"];
    const coded = { "h264.ts": ["-c:v", "libx264", "-c:a", "aac"], "mpeg2.ts": ["-c:v", "mpeg2video", "-c:a", "mp2"], "dvd.mpg": ["-c:v", "mpeg2video", "-c:a", "mp2"] }; // biome-ignore format: one line
    for (const [name, codec] of Object.entries(coded)) {
      await draw(name, "testsrc2=s=160x96:r=25:d=2", ...sound, ...codec, "-pix_fmt", "yuv420p");
      const { file } = await make(folder, (task) => join(task, "j", [video(name)]));
      expect([name, (await probe(file())).video!.seconds]).toEqual([name, 2]);
    }
  });

  test("with two moments in the lines of a frame are shown one at a time", async () => {
    const bar = "color=black:s=160x96:r=50:d=1,format=gray,geq=lum='if(lt(abs(X-2*N-20),12),235,16)'";
    await draw("fields.mp4", `${bar},tinterlace=interleave_top,setfield=tff`, "-c:v", "libx264", "-qp", "4", "-flags", "+ildct+ilme", "-pix_fmt", "yuv420p"); // biome-ignore format: one line
    /** How far lines differ from those below them; those of an upright bar are the same. */
    const combed = async (file: string) => {
      await ffmpeg("-v", "error", "-ss", "0.5", "-i", file, "-frames:v", "1", "-vf", "format=gray", "-f", "rawvideo", path("frame.gray")); // biome-ignore format: one line
      const frame = readFileSync(path("frame.gray"));
      return Math.max(...frame.subarray(160).map((level, index) => Math.abs(level - frame[index]!)));
    };
    expect(await combed(path("fields.mp4"))).toBeGreaterThan(200);
    const { file } = await make(folder, (task) => join(task, "j", [video("fields.mp4")]));
    expect(await combed(file())).toBeLessThan(40);
    expect((await probe(file())).seconds).toBe(1);
  });

  test("that were joined byte by byte are heard to the end of the last one", async () => {
    const tones = { "tone.mp3": ["-id3v2_version", "3", "-metadata", "title=One"], "tone.ogg": ["-c:a", "libopus"] };
    const joined = (...parts: readonly string[]) => Buffer.concat(parts.map((part) => readFileSync(path(part))));
    for (const [name, more] of Object.entries(tones)) {
      // Each recording in an Ogg has a number.
      for (const number of ["1", "2"]) await draw(number + name, "sine=d=2", ...more, ...(name === "tone.ogg" ? ["-serial_offset", number] : [])); // biome-ignore format: one line
      writeFileSync(path(`joined-${name}`), joined(`1${name}`, `2${name}`));
      const { file, value } = await make(folder, (task) => mix(task, "m", video("silent.mp4"), { voice: audio(`joined-${name}`) })); // biome-ignore format: one line
      expect(Math.abs((value as { readonly seconds: number }).seconds - 4)).toBeLessThan(0.15);
      const { silent } = await gapsOf(file());
      expect([name, silent.filter((gap) => Number(gap.split("-")[0]) < 3.8)]).toEqual([name, []]);
    }
  });

  test("of pixels that are not square keep their shape, also of odd sizes", async () => {
    await draw("wide.mp4", "testsrc2=s=160x180:r=10:d=1,setsar=2", "-pix_fmt", "yuv420p");
    await draw("odd.mp4", "color=gray:s=160x90:r=10:d=1,format=yuv444p,scale=161:91,setsar=1", "-pix_fmt", "yuv444p");
    const words = [{ text: "x", start: 0, end: 0.1 }];
    for (const [name, size] of [
      ["wide.mp4", [320, 180]],
      ["odd.mp4", [162, 92]],
    ] as const) {
      // biome-ignore format: one line
      const made = [
        await make(folder, (task) => trim(task, "t", video(name), { to: 0.5 })),
        await make(folder, (task) => caption(task, "c", video(name), { lines: [{ text: "x", words }] })),
      ];
      for (const { file } of made) {
        const { width, height } = (await probe(file())).video!;
        expect([width, height]).toEqual(size);
      }
    }
  });
});

test("what is not read is named by its format, and is no damage", async () => {
  const begins = {
    "photo.heic": ["\0\0\0\x18ftypheic\0\0\0\0mif1heic", /photo\.heic is a HEIC image, which is not supported; save it as JPEG or PNG/],
    "moving.webp": ["RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0", /moving\.webp is an animated WebP, which is not supported/],
    "picture.jxl": ["\xff\x0a\0\0\0\0\0\0\0\0", /is a JPEG XL image/],
    "layers.psd": ["8BPS\0\x01\0\0\0\0\0\0", /is a Photoshop document/],
    "drawing.svg": ["<svg xmlns='http://www.w3.org/2000/svg'/>", /is SVG or other XML/],
    "words.txt": ["Fresh bread from five in the morning.", /is not a supported video, audio or image file/],
  } as const; // biome-ignore format: one line
  for (const [name, [bytes, message]] of Object.entries(begins)) {
    writeFileSync(path(name), Buffer.from(bytes, "latin1"));
    const showing = make(folder, (task) => slideshow(task, "s", [image(name)]));
    await expect(showing).rejects.toMatchObject({ code: "CLIP_FORMAT", message: expect.stringMatching(message) });
  }
});
