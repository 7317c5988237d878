import { mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plainWav } from "../../src/core/kit/placeholder-media.ts";
import type { Captioned } from "../../src/film/steps/caption.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";
import { cli } from "./support/cli.ts";
import { otioTimelineSchema } from "./support/otio-schema.ts";

/** What `caption` yields. */
const cues: Captioned["cues"] = [
  { start: 0, end: 1.5, text: "A\nboat.", words: [] },
  { start: 1.5, end: 2, text: "It sails.", words: [] },
];

const PIPELINE = `import { copyFileSync } from "node:fs";
import { pipeline } from "showrunner";
import { z } from "zod";

const cues = ${JSON.stringify(cues)};

export default pipeline("film", {
  input: z.object({}),
  build({ job, takes, task, upload }) {
    const face = takes("face", "image-1", { prompt: "a face" }, { count: 3, choose: "first" });
    const looks = takes("looks", "image-1", { prompt: "a look" }, { count: 2, choose: () => 1 });
    const voice = job("voice", "speech-1", { text: "A boat. It sails.", voice_id: "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01" });
    const joined = task("joined", { clips: [face, looks] }, ({ clips }, { file }) => copyFileSync(clips[0].path, file("film")), {
      files: { film: "image" },
    });
    const captioned = task(
      "captioned",
      { joined, voice },
      ({ joined }, { file }) => { copyFileSync(joined.path, file("film")); return { cues }; },
      { files: { film: "image" } },
    );
    const clip = job("clip", "video-1", { prompt: "a boat", resolution: "720p", duration_ms: 3000, aspect_ratio: "16:9" });
    const song = upload("song", "song.wav");
    const branded = task("branded", { film: clip, song, logo: { picture: face } }, ({ film }, { file }) => copyFileSync(film.path, file("film")), {
      files: { film: "video" },
    });
    return { still: face, film: captioned, branded, text: job("plain", "image-1", { prompt: "plain" }) };
  },
});
`;

const LIST = `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("trailer", {
  input: z.object({}),
  build: ({ job }) => ({ clips: ["one", "two"].map((name) => job(name, "image-1", { prompt: name })) }),
});
`;

let service: LocalService;
let folder: string;
const here = (...args: readonly string[]) =>
  cli(args, { cwd: folder, env: { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey } });

beforeAll(async () => {
  folder = await fastFolder("export-");
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: join(folder, "service") });
  await writeFile(join(folder, "film.ts"), PIPELINE);
  await writeFile(join(folder, "song.wav"), plainWav(1500));
  const { code, stderr } = await here("run", "film.ts", "--id", "f", "--budget", "5");
  expect(code, stderr).toBe(0);
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

async function exported(...flags: readonly string[]) {
  const { code, stderr } = await here("export", "f", "--otio", "cut.otio", ...flags);
  expect(code, stderr).toBe(0);
  return otioTimelineSchema.parse(JSON.parse(await readFile(join(folder, "cut.otio"), "utf8")));
}

describe("a run as a timeline", () => {
  test("has the clips that the film was joined from, their takes, the sound, the captions, and the film itself", async () => {
    const { tracks, metadata } = await exported("--of", "film");
    expect(metadata).toEqual({ showrunner: { run: "f" } });
    const shape = tracks.children.map(({ name, kind, enabled, children }) => [
      name,
      kind,
      enabled,
      children.map((clip) => [clip.name, Object.keys(clip.media_references).sort()]),
    ]);
    expect(shape).toEqual([
      [
        "clips",
        "Video",
        true,
        [
          ["face/pick", ["DEFAULT_MEDIA"]],
          ["looks/pick", ["DEFAULT_MEDIA", "take 2"]],
        ],
      ],
      ["voice", "Audio", true, [["voice", ["DEFAULT_MEDIA"]]]],
      ["finished", "Video", false, [["captioned", ["DEFAULT_MEDIA"]]]],
    ]);
    expect(
      tracks.markers.map(({ name, comment, marked_range: { start_time, duration } }) => {
        return [name, comment, start_time.value, duration.value];
      }),
    ).toEqual([
      ["A boat.", "A\nboat.", 0, 38],
      ["It sails.", "It sails.", 38, 12],
    ]);
  });

  test("names files that are there, of the bytes that it says", async () => {
    const { tracks } = await exported("--of", "film");
    const references = tracks.children.flatMap(({ children }) =>
      children.flatMap((clip) => Object.values(clip.media_references)),
    );
    expect(references.length).toBe(5);
    for (const { target_url } of references) {
      const path = fileURLToPath(target_url);
      expect(path.startsWith(join(folder, "cut-media"))).toBe(true);
      expect((await stat(path)).size).toBeGreaterThan(0);
    }
  });

  test("of a result that a model made is that clip", async () => {
    const { tracks } = await exported("--of", "still");
    expect(tracks.children.map(({ name, children }) => [name, children.map((clip) => clip.name)])).toEqual([
      ["clips", ["face/pick"]],
    ]);
    expect(tracks.children[0]!.children[0]!.source_range!.duration).toMatchObject({ rate: 25, value: 125 });
  });

  test("has a picture that is laid over a film beside the clips, switched off", async () => {
    const { tracks } = await exported("--of", "branded");
    expect(
      tracks.children.map(({ name, enabled, children }) => [name, enabled, children.map((clip) => clip.name)]),
    ).toEqual([
      ["clips", true, ["clip"]],
      ["song", true, ["song"]],
      ["stills", false, ["face/pick"]],
      ["finished", false, ["branded"]],
    ]);
    // A file that was given is measured; a clip is of whole frames.
    const { rate, value } = tracks.children[1]!.children[0]!.source_range!.duration;
    expect(Math.abs(value - 1.5 * rate)).toBeLessThanOrEqual(1);
  });

  test("of a returned list is one item and the names of the others, or the list as a whole", async () => {
    await writeFile(join(folder, "trailer.ts"), LIST);
    const run = await here("run", "trailer.ts", "--id", "t", "--budget", "5");
    expect(run.code, run.stderr).toBe(0);
    const one = await here("export", "t", "--otio", "cut.otio");
    expect([one.code, one.stderr]).toEqual([
      0,
      expect.stringContaining("Only clips-1 was exported. To export another, add --of NAME: clips-2, clips."),
    ]);
    const whole = await here("export", "t", "--otio", "cut.otio", "--of", "clips");
    expect([whole.code, whole.stderr]).toEqual([0, expect.not.stringContaining("Only")]);
    const { tracks } = otioTimelineSchema.parse(JSON.parse(await readFile(join(folder, "cut.otio"), "utf8")));
    expect(tracks.children.map(({ name, children }) => [name, children.map((clip) => clip.name)])).toEqual([
      ["clips", ["one", "two"]],
    ]);
  });

  test("says what there is where a name is wrong, or no file is named", async () => {
    const wrong = await here("export", "f", "--otio", "cut.otio", "--of", "flim");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("choose from: branded, still, film, text")]);
    const bare = await here("export", "f");
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("--otio cut.otio")]);
  });
});

describe("a file that a flag names for writing", () => {
  const writes = [
    ["report", "f", "--out", "kept.html"],
    ["export", "f", "--otio", "kept.otio"],
    ["plan", "film.ts", "--svg", "kept.svg"],
  ] as const;

  test.each(writes)("is replaced where it is an earlier one: %s", async (...args) => {
    for (const _ of [1, 2]) expect(await here(...args)).toMatchObject({ code: 0 });
  });

  test.each(writes)("is kept where it is something else, also behind a link: %s", async (command, of, flag) => {
    const film = join(folder, "film.mp4");
    await writeFile(film, "\0\0\0\x18ftypmp42 paid for");
    await symlink(film, join(folder, "link")).catch(() => {});
    for (const named of ["film.mp4", "link"]) {
      const { code, stderr } = await here(command, of, flag, named);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(`${flag}: ${named} already exists`);
      expect(await readFile(film, "latin1")).toContain("paid for");
    }
  });

  test.each([
    [writes[0], "<!doctype html>\n<html><head><title>My site</title></head></html>"],
    [writes[1], '{\n  "name": "my-project"\n}'],
    [writes[2], '<?xml version="1.0"?>\n<settings/>'],
  ])("is kept where it only has the same syntax: %s", async ([command, of, flag], text) => {
    await writeFile(join(folder, "mine"), text);
    await mkdir(join(folder, "place"), { recursive: true });
    for (const named of ["mine", "place"]) {
      const { code, stderr } = await here(command, of, flag, named);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(`${flag}: ${named} already exists`);
    }
    expect(await readFile(join(folder, "mine"), "utf8")).toBe(text);
  });
});
