import { expectTypeOf, test } from "vitest";
import type { Substitutes } from "../../../src/core/engine/service/rehearsal.ts";
import type { LocalFunction } from "../../../src/core/plan/draft.ts";

test("a kind of step whose code is a model compiles only with a substitute for rehearsals", () => {
  type KindWithModel = Extract<LocalFunction, { readonly model: unknown }>["kind"];
  expectTypeOf<keyof Substitutes>().toEqualTypeOf<KindWithModel>();
  // @ts-expect-error no substitute for the models of `generate`
  const missing: Substitutes = {};
  expectTypeOf(missing).not.toBeAny();
});
