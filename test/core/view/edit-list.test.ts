import { describe, expect, test } from "vitest";
import type { Json, PlanStep } from "../../../src/core/plan/plan.ts";
import { editLists } from "../../../src/core/view/edit-list.ts";
import { runningState } from "../run/support/decided.ts";
import { job, ref } from "../run/support/plans.ts";
import { expansion, gate, task, upload, uploadRef, valueRef } from "../run/support/steps.ts";

const made = (contentType: string, seconds: number | null = null, value?: Json) => ({
  status: "succeeded",
  outputs: [file(contentType, seconds)],
  ...(value !== undefined && { value }),
});
const file = (contentType: string, seconds: number | null, index = 0) => ({
  ...{ index, assetId: null, status: "COMPLETED", phase: "downloaded", voiceId: null, error: null, contentType },
  ...{ width: 2, height: 2, fps: 25, durationMs: seconds === null ? null : seconds * 1000 },
  copy: { sha256: "c", sizeBytes: 1, contentType },
});
const film = (seconds: number, value?: Json) => made("video/mp4", seconds, value);
const picture = made("image/png");
const sound = made("audio/wav", 2);
const cue = (start: number, end: number, text: string) => ({ start, end, text, words: [] });

type Steps = readonly (readonly [PlanStep, object])[];

/** What the list of the last step has. */
function listOf(steps: Steps) {
  const [last] = steps.at(-1)!;
  const [list] = editLists(runningState(steps, {}, { returns: { film: ref(last.path) } }));
  const names = (of: "pictures" | "stills" | "sounds") => list![of].map(({ name }) => name);
  return { list: list!, pictures: names("pictures"), stills: names("stills"), sounds: names("sounds") };
}

const shown = (steps: Steps) => listOf(steps).list.captions.map(({ start, end, text }) => [start, end, text]);

describe("the clips of a film", () => {
  test("are those of an expansion, each, in its order, and of a model that made several", () => {
    const steps: Steps = [
      [task("scenes"), { status: "succeeded", value: [1, 2] }],
      [job("clip-1"), film(3)],
      [job("clip-2"), film(3)],
      [job("more"), { status: "succeeded", outputs: [file("video/mp4", 1), file("video/mp4", 1, 1)] }],
      [expansion("grown", valueRef("scenes")), { status: "succeeded", expanded: [ref("clip-2"), ref("clip-1")] }],
      [task("cut", { clips: [ref("grown", "all"), ref("more", "all")] }), film(8)],
    ];
    expect(listOf(steps).pictures).toEqual(["clip-2", "clip-1", "more", "more"]);
    expect(listOf(steps).list.pictures.map(({ takes, active }) => takes[active]!.output.index)).toEqual([0, 0, 0, 1]);
  });

  test("are all that an approval showed", () => {
    const approved = { status: "succeeded", approval: { approved: true, note: null } };
    const steps: Steps = [
      [job("a"), film(3)],
      [job("b"), film(3)],
      [gate("ok", [ref("a"), ref("b")]), approved],
      [task("cut", { clips: [ref("ok", "all")] }), film(6)],
    ];
    expect(listOf(steps).pictures).toEqual(["a", "b"]);
  });

  test("are there as often as they were joined, a sound once", () => {
    const steps: Steps = [
      [job("a"), film(3)],
      [job("b"), film(3)],
      [job("voice"), sound],
      [task("cut", { clips: [ref("a"), ref("b"), ref("a")] }), film(9)],
      [task("scored", { film: ref("cut"), voice: ref("voice") }), film(9)],
      [task("captions", { film: ref("scored"), lines: [{ text: "x", voice: ref("voice") }] }), film(9)],
    ];
    expect(listOf(steps)).toMatchObject({ pictures: ["a", "b", "a"], sounds: ["voice"] });
  });

  test("are no logo and no card, which are beside them; pictures in a row with films are", () => {
    const steps: Steps = [
      [job("a"), film(3)],
      [job("title"), picture],
      [job("logo"), picture],
      [job("card"), picture],
      [task("cut", { clips: [ref("title"), ref("a")] }), film(6)],
      [
        task("branded", { film: ref("cut"), logo: { picture: ref("logo") }, endCard: { picture: ref("card") } }),
        film(8),
      ],
    ];
    expect(listOf(steps)).toMatchObject({ pictures: ["title", "a"], stills: ["logo", "card"] });
  });

  const given = (name: string, contentType: string) =>
    [upload(name), { status: "succeeded", upload: { sha256: name, sizeBytes: 1, contentType } }] as const;

  test("are no logo where the film itself was given", () => {
    const steps: Steps = [
      given("given", "video/mp4"),
      [job("logo"), picture],
      [task("branded", { film: uploadRef("given"), logo: { picture: ref("logo") } }), film(8)],
    ];
    expect(listOf(steps)).toMatchObject({ pictures: ["given"], stills: ["logo"] });
  });

  test("are files that were given too, with the music and the logo", () => {
    const steps: Steps = [
      [job("a"), film(3)],
      given("opening", "video/mp4"),
      given("music", "audio/wav"),
      given("logo", "image/png"),
      given("words", "text/plain"),
      [task("cut", { clips: [uploadRef("opening"), ref("a")] }), film(6)],
      [task("scored", { film: ref("cut"), music: uploadRef("music"), words: uploadRef("words") }), film(6)],
      [task("branded", { film: ref("scored"), logo: { picture: uploadRef("logo") } }), film(6)],
    ];
    const { list, ...names } = listOf(steps);
    expect(names).toEqual({ pictures: ["opening", "a"], stills: ["logo"], sounds: ["music"] });
    expect(list.sounds[0]!.takes[0]!.output).toMatchObject({ copy: { sha256: "music" }, durationMs: null });
  });

  test("are the one of several given files that was picked", () => {
    const picked = { status: "succeeded", chosen: { step: "second", index: 0 } };
    const steps: Steps = [
      [job("a"), film(3)],
      given("first", "audio/wav"),
      given("second", "audio/wav"),
      [gate("music", [uploadRef("first"), uploadRef("second")]), picked],
      [task("scored", { film: ref("a"), music: ref("music") }), film(3)],
    ];
    const { list, sounds } = listOf(steps);
    expect(sounds).toEqual(["music"]);
    expect(list.sounds[0]!.takes[0]!.output.copy!.sha256).toBe("second");
  });

  test("of a list that was returned are its files, in a row", () => {
    const steps: Steps = [
      [job("a"), film(3)],
      [task("cut", { clips: [ref("a")] }), film(6)],
      [job("b"), film(3)],
      [expansion("grown", valueRef("scenes")), { status: "succeeded", expanded: [ref("b"), ref("cut")] }],
    ];
    const [list] = editLists(runningState(steps, {}, { returns: { films: ref("grown", "all") } }));
    expect(list!.pictures.map(({ name }) => name)).toEqual(["b", "cut"]);
    expect(list!.finished).toBeNull();
  });

  test("are the pictures that a film was made of", () => {
    const steps: Steps = [
      [job("a"), picture],
      [job("b"), picture],
      [task("show", { pictures: [ref("a"), ref("b")] }), film(6)],
    ];
    expect(listOf(steps)).toMatchObject({ pictures: ["a", "b"], stills: [] });
  });
});

describe("the captions of a film that was cut after them", () => {
  const captioned = (name: string, seconds: number, ...cues: readonly Json[]) =>
    [task(name, { film: ref("a") }), film(seconds, { cues })] as const;
  const first: Steps = [
    [job("a"), film(4)],
    captioned("captions", 4, cue(0, 1, "one"), cue(1, 2, "two"), cue(3, 4, "three")),
  ];

  test("move with the part that was kept", () => {
    const trimmed = [
      task("part", { film: ref("captions"), from: 1.5 }),
      film(2, { seconds: 2, starts: [-1.5] }),
    ] as const;
    expect(shown([...first, trimmed])).toEqual([
      [0, 0.5, "two"],
      [1.5, 2, "three"],
    ]);
  });

  test("stand where their clip begins", () => {
    const steps: Steps = [
      ...first,
      [job("b"), film(2)],
      captioned("more", 2, cue(0, 1, "four")),
      [task("cut", { clips: [ref("b"), ref("captions"), ref("more")] }), film(7.4, { starts: [0, 1.7, 5.4] })],
    ];
    expect(shown(steps)).toEqual([
      [1.7, 2.7, "one"],
      [2.7, 3.7, "two"],
      [4.7, 5.7, "three"],
      [5.4, 6.4, "four"],
    ]);
  });

  test("stay where the film begins as before: it says so, or is as long", () => {
    const card = [task("card", { film: ref("captions") }), film(6, { starts: [0] })] as const;
    const shape = [task("shape", { film: ref("card") }), film(6.02)] as const;
    expect(shown([...first, card, shape]).map(([start]) => start)).toEqual([0, 1, 3]);
  });

  test("are left out where nobody says when the film begins", () => {
    const steps: Steps = [...first, [task("intro", { film: ref("captions") }), film(9)]];
    expect(shown(steps)).toEqual([]);
  });
});
