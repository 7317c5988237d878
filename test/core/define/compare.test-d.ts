import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { type Handle, pipeline, type ValueHandle } from "../../../src/index.ts";

const prompt = "x";
const video = { prompt, aspect_ratio: "1:1", duration_ms: 3000 } as const;

pipeline("compare-types", {
  input: z.object({}),
  build({ compare, job }) {
    test("parts agree by what they yield, and the choice is of that kind", () => {
      const look = compare("look", {
        plain: (b) => b.job("a", models.image, { prompt }),
        takes: (b) => b.takes("b", models.image, { prompt }, { count: 2, choose: "first" }),
        named: (b) => b.job("c", "image-9", { prompt }),
      });
      expectTypeOf(look).toEqualTypeOf<Handle<"image", "single">>();
      job("ok", models.image, { prompt, images: [look] });
      const mixed = compare("mixed", {
        a: (b) => b.job("a", models.video, video),
        b: (b) => b.job("b", models.image, { prompt }),
      });
      // @ts-expect-error a film beside a picture is no handle of one
      job("bad", models.image, { prompt, images: [mixed] });
      // @ts-expect-error a list is not one result
      compare("list", { a: (b) => b.job("a", models.image, { prompt }).outputs() });
    });

    test("parts may come of a list", () => {
      const parts = Object.fromEntries(
        (["standard", "pro"] as const).map((quality) => {
          return [quality, (b: { readonly job: typeof job }) => b.job(quality, models.image, { prompt, quality })];
        }),
      );
      expectTypeOf(compare("some", parts)).toEqualTypeOf<Handle<"image", "single">>();
    });

    test("values are compared as well", () => {
      const told = compare("told", { a: (b) => b.task("a", {}, () => "a"), b: (b) => b.task("b", {}, () => "b") });
      expectTypeOf(told).toEqualTypeOf<ValueHandle<string>>();
    });
    return {};
  },
});
