import { expectTypeOf, test } from "vitest";
import type { Substitutes } from "../../../src/core/engine/service/rehearsal.ts";
import type { ChatStep } from "../../../src/core/plan/kinds/chat.ts";
import type { GenerateStep } from "../../../src/core/plan/kinds/generate.ts";
import type { StepKind } from "../../../src/core/plan/kinds/kind.ts";
import type { DraftStepBase, LocalFunction, StepBase } from "../../../src/core/plan/plan.ts";

test("a kind of step whose code is a model compiles only with a substitute for rehearsals", () => {
  type KindWithModel = Extract<LocalFunction, { readonly model: unknown }>["kind"];
  expectTypeOf<keyof Substitutes>().toEqualTypeOf<KindWithModel>();
  // @ts-expect-error no substitute for the models of `generate`
  const missing: Substitutes = {};
  expectTypeOf(missing).not.toBeAny();
});

test("a kind of step that calls a model of a provider compiles only if its traits name the provider", () => {
  type ProviderTrait<S extends StepBase> = ReturnType<StepKind<DraftStepBase, S>["traits"]>["provider"];
  expectTypeOf<null>().not.toExtend<ProviderTrait<GenerateStep>>();
  expectTypeOf<ProviderTrait<ChatStep>>().toEqualTypeOf<null>();
});
