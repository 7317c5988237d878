import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/index.ts";
import { apiError, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { localShow } from "../../support/local-show.ts";

const SALLY = { id: "voice_1", name: "Sally", previewUrl: null, labels: { gender: "female", accent: "american" } };
const SALLY_ANNE = { id: "voice_2", name: "Sally Anne", previewUrl: null, labels: {} };
const OTHER_SALLY = { id: "voice_3", name: "sally", previewUrl: null, labels: { accent: "scottish" } };

type Searched = Pick<Client, "searchVoices" | "voices">;

const speaking = (searched: Partial<Searched>) => openFakeShow({ client: () => searched });

const spoken = (voice_id: string) =>
  pipelineOf("spoken", ({ job }) => ({ speech: job("speech", models.speech, { text: "Good evening.", voice_id }) }));

const inputOf = (plan: unknown) => (plan as { steps: { input: unknown }[] }).steps[0]!.input;

/** A service that finds these by any text. */
const finds = (...voices: Awaited<ReturnType<Client["searchVoices"]>>) => ({ searchVoices: async () => voices });

const local = localShow();

test.each(["Sally", "sally", " SALLY "])("a voice called %j is submitted by its id", async (name) => {
  const { problems, plan } = await local.show.quote(spoken(name), {});
  expect(problems).toEqual([]);
  expect(inputOf(plan)).toMatchObject({ voice_id: expect.stringMatching(/^voice_1f0c5f6e/) });
  // The service takes no voice but by its id.
  expect((await local.run(spoken(name))).status).toBe("succeeded");
});

test("a name that several voices have is refused, with each of them", async () => {
  const { show } = await speaking(finds(SALLY, OTHER_SALLY, SALLY_ANNE));
  expect((await show.quote(spoken("Sally"), {})).problems).toEqual([
    {
      code: "ambiguous-voice",
      step: "speech",
      field: "input.voice_id",
      message:
        'speech-1 has 2 voices named "Sally"; use the id of one of them: voice_1, female, american; voice_3, scottish',
      allowed: ["voice_1", "voice_3"],
    },
  ]);
});

test("a name that no voice has is refused with the nearest ones, of those found and of those listed", async () => {
  const refused = async () => {
    throw apiError(400, "INVALID_ARGUMENT", { param: "input.voice_id" });
  };
  const { show } = await speaking({ ...finds(SALLY_ANNE), ...{ estimate: refused } });
  const { problems } = await show.quote(spoken("Saly Ann"), {});
  expect(problems).toMatchObject([
    {
      code: "unknown-voice",
      message:
        'speech-1 has no voice "Saly Ann"; did you mean voice_2 (Sally Anne)? available voices: voice_2 (Sally Anne), voice_stock',
      allowed: ["voice_2"],
    },
  ]);
});

describe("an id is left as it is", () => {
  test("and of one that begins as ids do nothing is asked", async () => {
    let asked = 0;
    const searchVoices = async () => {
      asked += 1;
      return [];
    };
    const { show } = await speaking({ searchVoices });
    expect(inputOf((await show.quote(spoken("voice_stock"), {})).plan)).toMatchObject({ voice_id: "voice_stock" });
    expect(asked).toBe(0);
  });

  test("also where another voice has it for a name", async () => {
    const { show } = await speaking(finds({ ...SALLY, name: "21m00" }, { ...SALLY_ANNE, id: "21m00" }));
    expect(inputOf((await show.quote(spoken("21m00"), {})).plan)).toMatchObject({ voice_id: "21m00" });
  });
});

test("a service without a search is asked for its list", async () => {
  const searchVoices = async () => {
    throw apiError(404, "NOT_FOUND", {});
  };
  const voices = () =>
    (async function* () {
      yield SALLY;
    })() as unknown as ReturnType<Client["voices"]>;
  const { show } = await speaking({ searchVoices, voices });
  expect(inputOf((await show.quote(spoken("Sally"), {})).plan)).toMatchObject({ voice_id: "voice_1" });
});
