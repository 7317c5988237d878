import { describe, expect, test } from "vitest";
import { callSite, errorText, isStepName, stepNameProblem } from "../../../src/core/define/errors.ts";
import { fieldsOf, profileNamed, swap } from "../../../src/core/define/model.ts";

describe("where an error came from", () => {
  const own = "    at shots (/home/me/film.ts:12:34)";

  test.each([
    [own, "/home/me/film.ts:12:34"],
    ["    at file:///home/me/my%20film.ts?v=2:1:2", "/home/me/my film.ts:1:2"],
    ["    at async C:\\films\\a.ts:3:4", null],
    ["    at C:\\films\\a.ts:3:4", "C:\\films\\a.ts:3:4"],
    ["    at Object.<anonymous> (D:/films/a.ts:10:200)", "D:/films/a.ts:10:200"],
    ["    at node:internal/process:1:2", null],
    ["    at zod (/home/me/node_modules/zod/index.js:1:2)", null],
    ["at film.ts:1:2", null],
    ["    at shots (/home/me/film.ts:12:34) and more", null],
    ["    at shots (/home/me/film.ts:12)", null],
    ["", null],
  ])("%s", (line, place) => {
    expect(callSite(`Error: no\n${line}`)).toBe(place);
  });

  test("is the first place in a person's own code", () => {
    const library = [
      "Error: no",
      "    at zod (/home/me/node_modules/zod/index.js:1:2)",
      own,
      "    at later (/home/me/b.ts:1:1)",
    ];
    expect(callSite(library.join("\n"))).toBe("/home/me/film.ts:12:34");
    expect(callSite(undefined)).toBeNull();
  });

  test("is said with the message of what was thrown", () => {
    const thrown = Object.assign(new Error("no"), { stack: `Error: no\n${own}` });
    expect(errorText(thrown)).toBe("no (at /home/me/film.ts:12:34)");
    expect(errorText(Object.assign(new Error("no"), { stack: "Error: no" }))).toBe("no");
    expect([errorText("text"), errorText(null)]).toEqual(["text", "null"]);
  });
});

describe("the name of a step", () => {
  test.each(["a", "9", "é-1_x.y", "日本", "a".repeat(100)])("may be %s", (name) => {
    expect(isStepName(name)).toBe(true);
    expect(stepNameProblem(name)).toBeNull();
  });

  test.each([
    ["a b", "a-b"],
    ["-a", "a"],
    ["..a//b!", "a-b"],
    ["a".repeat(101), "a".repeat(100)],
    ["  é/ü ", "é-ü"],
    ["a?-", "a"],
    [12, "12"],
    ["", null],
    ["!?", null],
    [undefined, "undefined"],
  ])("may not be %j", (name, better) => {
    const shown = JSON.stringify(name) ?? "undefined";
    const message = `${shown} is not a valid step name: use 1 to 100 letters, digits, ".", "_" or "-", beginning with a letter or digit`;
    const hint = better === null ? "" : `; for example ${JSON.stringify(better)}`;
    expect(stepNameProblem(name)).toEqual({
      code: "bad-step-name",
      step: String(name),
      field: null,
      message: message + hint,
    });
  });
});

describe("a profile by name", () => {
  const model = (id: string) => ({ id }) as never;
  const profiles = {
    draft: {
      models: { big: "small", ...swap(model("film"), model("clip")), voice: model("whisper") },
      fields: {
        ...fieldsOf(model("clip"), { fps: 12, seed: undefined } as never),
        small: { day: new Date(0) as never },
      },
      steps: { "a*": { model: model("tiny") }, b: { fields: { fps: undefined, size: null } }, c: { model: "own" } },
    },
    empty: {},
  };

  test("is plain JSON: models by their ids, fields that are set and those that are left out", () => {
    expect(profileNamed(profiles as never, "draft")).toEqual({
      profile: {
        name: "draft",
        models: { big: "small", film: "clip", voice: "whisper" },
        fields: {
          clip: { set: { fps: 12 }, without: ["seed"] },
          small: { set: { day: "1970-01-01T00:00:00.000Z" }, without: [] },
        },
        steps: {
          "a*": { model: "tiny", set: {}, without: [] },
          b: { model: null, set: { size: null }, without: ["fps"] },
          c: { model: "own", set: {}, without: [] },
        },
      },
    });
    expect(profileNamed(profiles as never, "empty")).toEqual({
      profile: { name: "empty", models: {}, fields: {}, steps: {} },
    });
  });

  test.each([
    [profiles, "drafts", 'the pipeline has no profile "drafts"; did you mean draft?', ["draft", "empty"]],
    [profiles, "final", 'the pipeline has no profile "final"; its profiles are draft, empty', ["draft", "empty"]],
    [profiles, "toString", 'the pipeline has no profile "toString"; its profiles are draft, empty', ["draft", "empty"]],
    [{}, "draft", 'the pipeline has no profile "draft"; it has no profiles', []],
    [undefined, "draft", 'the pipeline has no profile "draft"; it has no profiles', []],
  ])("that there is not is a problem, with those that there are", (all, name, message, allowed) => {
    expect(profileNamed(all as never, name)).toEqual({
      problem: { code: "unknown-profile", step: null, field: "profile", message, allowed },
    });
  });
});
