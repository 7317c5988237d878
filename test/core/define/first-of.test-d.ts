import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import type { ResultOf } from "../../../src/index.ts";
import { type Handle, pipeline, type ValueHandle, type VideoResult } from "../../../src/index.ts";

const prompt = "x";
const video = { prompt, aspect_ratio: "1:1", duration_ms: 3000 } as const;

pipeline("first-of-types", {
  input: z.object({}),
  build({ firstOf, job }) {
    test("options agree by what they yield", () => {
      const film = firstOf("film", [
        (b) => b.job("a", models.video, video),
        (b) => b.takes("b", models.video, video, { count: 2, choose: "first" }),
        (b) => b.firstOf("c", [(c) => c.job("c", models.video, video)]),
      ]);
      expectTypeOf(film).toEqualTypeOf<Handle<"video", "single">>();
      expectTypeOf<ResultOf<{ film: typeof film }>>().toEqualTypeOf<{ readonly film: VideoResult }>();
      // @ts-expect-error a picture where the first option is a film
      firstOf("mixed", [(b) => b.job("a", models.video, video), (b) => b.job("b", models.image, { prompt })]);
      // @ts-expect-error a list is not one result
      firstOf("list", [(b) => b.job("a", models.image, { prompt }).outputs()]);
      // @ts-expect-error no option at all is no handle
      firstOf("none", [(b) => b.job("a", models.image, { prompt }), () => undefined]);
    });

    test("a model that is only an id may be any of them", () => {
      const face = firstOf("face", [
        (b) => b.job("a", models.image, { prompt }),
        (b) => b.job("b", "image-9", { prompt }),
      ]);
      expectTypeOf(face).toEqualTypeOf<Handle<"image", "single">>();
      job("ok", models.image, { prompt, images: [face] });
    });

    test("options may come of a list", () => {
      const some = (["standard", "pro"] as const).map((quality) => {
        return (b: { readonly job: typeof job }) => b.job(quality, models.image, { prompt, quality });
      });
      expectTypeOf(firstOf("some", some)).toEqualTypeOf<Handle<"image", "single">>();
    });

    test("values agree by their type", () => {
      const told = firstOf("told", [(b) => b.task("a", {}, () => "a"), (b) => b.task("b", {}, () => "b")]);
      expectTypeOf(told).toEqualTypeOf<ValueHandle<string>>();
      // @ts-expect-error a number where the first option is text
      firstOf("mixed", [(b) => b.task("a", {}, () => "a"), (b) => b.task("b", {}, () => 1)]);
    });

    test("settings are checked", () => {
      firstOf("a", [(b) => b.job("a", models.image, { prompt })], { onModerated: "next", awayMs: 1, maxCost: "1.00" });
      // @ts-expect-error there is no such way on
      firstOf("a", [(b) => b.job("a", models.image, { prompt })], { onModerated: "again" });
    });
    return {};
  },
});
