import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { isTooDeep } from "../../../src/core/kit/json-text.ts";
import { guarded, plainName } from "../../../src/core/run/resolve.ts";
import { openFakeShow, pipelineOf } from "../../support/engine.ts";

const LOOKALIKE = { $file: { sha256: "a".repeat(64), contentType: "image/png" }, $$file: 1 };

test("an answer that looks like a file of ours reaches the code as what it is, from a chat and from a task", async () => {
  const seen: unknown[] = [];
  const looks = pipelineOf("looks", ({ chat, task }) => {
    const schema = z.object({ deep: z.array(z.looseObject({})) });
    const said = chat("said", "chat-1", { prompt: "a board" }, { schema, maxCost: "0.10" });
    const made = task("made", { said }, ({ said }) => {
      seen.push(said);
      return LOOKALIKE;
    });
    return { end: task("end", { made, all: [made] }, (input) => void seen.push(input)) };
  });
  const life = await openFakeShow({ says: () => JSON.stringify({ deep: [LOOKALIKE] }) });
  expect((await life.run(looks, {}, { budget: "5" })).status).toBe("succeeded");
  expect(seen).toEqual([{ deep: [LOOKALIKE] }, { made: LOOKALIKE, all: [LOOKALIKE] }]);
});

test("no value of others names a file once it is guarded, and its names come back", () => {
  const name = fc.oneof(fc.constantFrom("$file", "$$file", "$$$file", "file", "__proto__"), fc.string());
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string(),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 3 }),
    ),
  }));
  const plain = (one: unknown): unknown => {
    if (typeof one !== "object" || one === null) return one;
    if (Array.isArray(one)) return one.map(plain);
    expect(Object.hasOwn(one, "$file")).toBe(false);
    return Object.fromEntries(Object.entries(one).map(([key, item]) => [plainName(key), plain(item)]));
  };
  fc.assert(
    fc.property(value, (given) => {
      const json = JSON.parse(JSON.stringify(given));
      expect(plain(guarded(json))).toEqual(json);
    }),
  );
});

const nested = (levels: number) => `${"[".repeat(levels)}1${"]".repeat(levels)}`;

test.each([
  ["chat", 501],
  ["chat", 100_000],
  ["task", 501],
] as const)("an answer of a %s that is nested %i levels deep is refused with an error", async (kind, levels) => {
  const deep = pipelineOf("deep", ({ chat, task }) => {
    if (kind === "task") return { end: task("end", {}, () => JSON.parse(nested(levels)) as never) };
    return { end: chat("end", "chat-1", { prompt: "x" }, { schema: z.array(z.any()), maxCost: "0.10", repairs: 0 }) };
  });
  const life = await openFakeShow({ says: () => nested(levels) });
  expect((await life.run(deep, {}, { budget: "5" })).status).toBe("failed");
  expect(JSON.stringify(await life.show.show("x"))).toContain("nested deeper than 500 levels");
});

test("500 levels are read", () => {
  expect([500, 501, 1_000_000].map((levels) => isTooDeep(JSON.parse(nested(levels))))).toEqual([false, true, true]);
});
