import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { findFfmpeg } from "../../src/film/ffmpeg/abilities.ts";
import { probe } from "../../src/film/ffmpeg/probe.ts";
import { ffmpegWith } from "../../src/film/ffmpeg/requirement.ts";
import { runFfmpeg } from "../../src/film/ffmpeg/run-ffmpeg.ts";
import { runProgram } from "../../src/film/ffmpeg/run-program.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { drawClip, ffmpeg } from "./support/ffmpeg.ts";

const folder = newFolder();
const at = (name: string) => join(folder, name);
const clip = at("clip.mp4");
beforeAll(() => drawClip(clip));

describe("what a file holds", () => {
  test("is read with size, rate, length and sound", async () => {
    const { seconds, video, audio } = await probe(clip);
    expect(seconds).toBeCloseTo(1, 2);
    expect(video).toMatchObject({ width: 320, height: 240, fps: 25, turn: 1, isStill: false });
    expect(audio).toMatchObject({ codec: "aac", sampleRate: 44100 });
  });

  test("is the size as it is shown: turned, and with square pixels", async () => {
    await ffmpeg("-v", "error", "-i", clip, "-c", "copy", "-metadata:s:v", "rotate=90", at("turned.mp4"));
    expect((await probe(at("turned.mp4"))).video).toMatchObject({ width: 240, height: 320 });
    await drawClip(at("wide.mp4"), { more: ["-aspect", "2:1"] });
    expect((await probe(at("wide.mp4"))).video).toMatchObject({ width: 480, height: 240 });
  });

  test("of a picture has no length", async () => {
    await ffmpeg("-v", "error", "-i", clip, "-frames:v", "1", at("still.png"));
    expect(await probe(at("still.png"))).toMatchObject({
      seconds: 0,
      video: { isStill: true, width: 320 },
      audio: null,
    });
  });
});

test.skipIf(!existsSync("/dev/full"))(
  "a disk without space is the disk's error, not that of a clip [G41]",
  async () => {
    const call = { inputs: [{ path: clip, name: "clip 1" }], args: ["-f", "matroska"], target: "/dev/full" };
    await expect(runFfmpeg(call)).rejects.toMatchObject({ code: "ENOSPC", path: "/dev/full" });
  },
);

describe("a foreign file", () => {
  const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://${clip}\n#EXT-X-ENDLIST\n`;

  test.each([
    ["a playlist", playlist],
    ["a list of clips", `ffconcat version 1.0\nfile ${clip}\n`],
    ["a page", "<html>"],
    ["a description of a stream", "v=0\no=- 0 0 IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\n"],
  ])("that is %s with the name of a film is not opened", async (_, text) => {
    writeFileSync(at("foreign.mp4"), text);
    await expect(probe(at("foreign.mp4"), { name: "clip 2" })).rejects.toMatchObject({
      code: "CLIP_FORMAT",
      message: expect.stringMatching(/^clip 2: /),
    });
    const inputs = [{ path: at("foreign.mp4"), name: "clip 2" }];
    await expect(runFfmpeg({ inputs, args: [], target: at("out.mp4") })).rejects.toMatchObject({
      code: "CLIP_FORMAT",
    });
  });

  test("that claims a picture of four billion pixels is refused before memory is asked for it", async () => {
    await ffmpeg("-v", "error", "-i", clip, "-frames:v", "1", at("vast.jpg"));
    const bytes = readFileSync(at("vast.jpg"));
    const size = bytes.indexOf(Buffer.from([0xff, 0xc0])) + 5;
    bytes.writeUInt16BE(65_000, size);
    bytes.writeUInt16BE(65_000, size + 2);
    writeFileSync(at("vast.jpg"), bytes);
    const inputs = [{ path: at("vast.jpg"), name: "clip 2" }];
    await expect(probe(at("vast.jpg"), { name: "clip 2" })).rejects.toMatchObject({
      code: "CLIP_DAMAGED",
      message: "clip 2 is damaged: its images have no dimensions or exceed 100 million pixels",
    });
    // Where it was not looked at first, the decoder says no.
    await expect(runFfmpeg({ inputs, args: [], target: at("out.png") })).rejects.toMatchObject({
      code: "CLIP_DAMAGED",
    });
  });

  test("cut short is named", async () => {
    writeFileSync(at("short.mp4"), readFileSync(clip).subarray(0, 9000));
    await expect(probe(at("short.mp4"), { name: "clip 3" })).rejects.toThrow(/^clip 3 is damaged: /);
  });

  test("with a broken frame ends the call with its name", async () => {
    const bytes = readFileSync(clip);
    const media = bytes.indexOf("mdat") + 2000;
    bytes.fill(0x55, media, media + 4000);
    writeFileSync(at("broken.mp4"), bytes);
    const inputs = [
      { path: clip, name: "clip 1" },
      { path: at("broken.mp4"), name: "clip 2" },
    ];
    const args = ["-filter_complex", "[0:v][1:v]concat=n=2[v]", "-map", "[v]"];
    await expect(runFfmpeg({ inputs, args, target: at("out.mp4") })).rejects.toThrow(/^clip 2 is damaged: /);
  });
});

describe("a call of ffmpeg", () => {
  /** Goes on for hours. */
  const endless = ["-f", "lavfi", "-i", "testsrc2=s=1280x720:d=36000"];

  test("makes the same bytes from the same clips, and says how far it is", async () => {
    const said: number[] = [];
    const make = async (name: string) => {
      const inputs = [{ path: clip, name }];
      const onProgress = (fraction: number) => said.push(fraction);
      await runFfmpeg({ inputs, args: ["-vf", "scale=160:120"], target: at(name), seconds: 1, onProgress });
      return readFileSync(at(name));
    };
    expect((await make("one.mp4")).equals(await make("two.mp4"))).toBe(true);
    expect(said.at(-1)).toBeGreaterThan(0.9);
  });

  test("ends with the run", async () => {
    const stop = new AbortController();
    const call = { inputs: [], args: endless, target: at("endless.mp4"), seconds: 36000, signal: stop.signal };
    const running = runFfmpeg({ ...call, onProgress: () => stop.abort() });
    await expect(running).rejects.toMatchObject({ code: "FFMPEG_STOPPED" });
  });

  test("ends at its limits of time and size", async () => {
    const call = { inputs: [], args: endless, target: at("endless.mp4") };
    await expect(runFfmpeg({ ...call, timeoutMs: 300 })).rejects.toMatchObject({ code: "FFMPEG_TIMEOUT" });
    await expect(runFfmpeg({ ...call, maxBytes: 100_000 })).rejects.toMatchObject({ code: "FFMPEG_TOO_LARGE" });
  });

  test("ends when the process that made it is killed", async () => {
    const module = new URL("../../src/film/ffmpeg/run-program.ts", import.meta.url).href;
    const code = `import { runProgram } from ${JSON.stringify(module)};
      await runProgram(process.execPath, ["-e", "console.log(process.pid); setInterval(() => {}, 1000)"], { onOutput: (text) => process.stdout.write(text) });`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [pid] = await once(parent.stdout.setEncoding("utf8"), "data");
    const isThere = () => {
      try {
        return process.kill(Number(pid), 0);
      } catch {
        return false;
      }
    };
    expect(isThere()).toBe(true);
    parent.kill("SIGKILL");
    await expect.poll(isThere).toBe(false);
  });
});

describe("an ffmpeg that is not there, or lacks something", () => {
  test("is said with the command that installs it", async () => {
    expect(await ffmpegWith("loudness", "lettering")()).toBeNull();
    vi.stubEnv("PATH", folder);
    expect(await ffmpegWith()()).toMatch(/^ffmpeg was not found: .* Install it with .*ffmpeg/);
    vi.stubEnv("FFMPEG_PATH", at("none"));
    expect(await ffmpegWith()()).toMatch(/^FFMPEG_PATH is .*none, which is not an executable file/);
    await expect(runFfmpeg({ inputs: [], args: [], target: null })).rejects.toMatchObject({ code: "FFMPEG_MISSING" });
    vi.unstubAllEnvs();
  });

  test("names the filter", async () => {
    const whole = (await findFfmpeg())!;
    const script = `#!/bin/sh\n${whole.path} "$@" | grep -v -w loudnorm\n`;
    writeFileSync(at("ffmpeg"), script, { mode: 0o755 });
    vi.stubEnv("FFMPEG_PATH", at("ffmpeg"));
    expect(await ffmpegWith("loudness")()).toMatch(/was built without the filter loudnorm\. Install it with /);
    expect(await ffmpegWith()()).toBeNull();
    vi.unstubAllEnvs();
  });

  test("is no shell's matter: arguments are arrays", async () => {
    const { stdout } = await runProgram(process.execPath, ["-e", "console.log(process.argv[1])", "$(id); `id`"]);
    expect(stdout).toBe("$(id); `id`\n");
  });
});
