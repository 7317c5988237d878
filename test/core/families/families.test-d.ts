import { expectTypeOf, test } from "vitest";
import { type Family, type FamilyInput, openShowrunner, readFamilies } from "../../../src/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";

test("families are given as a path or a list, to library and local service alike", () => {
  expectTypeOf(readFamilies).toBeCallableWith("families.json");
  expectTypeOf(readFamilies).toBeCallableWith([{ name: "kling", rules: [] }]);
  expectTypeOf(openShowrunner).toBeCallableWith({ families: "families.json" });
  expectTypeOf(startLocalService).toBeCallableWith({ families: [{ name: "kling", typical_seconds: 60 }] });
  expectTypeOf(readFamilies("x").of("kling-3")).toEqualTypeOf<Family | null>();
});

test("a rule has one of five kinds, with the members of its kind, and a price one of four units", () => {
  const family = (entry: FamilyInput) => entry;
  family({ name: "a", rules: [{ kind: "max_sum", field: "shots", of: "ms", max: 5, message: "x" }] });
  // @ts-expect-error there is no such kind
  family({ name: "a", rules: [{ kind: "needs", fields: ["a"], message: "x" }] });
  // @ts-expect-error a sum has a bound
  family({ name: "a", rules: [{ kind: "max_sum", field: "shots", of: "ms", message: "x" }] });
  // @ts-expect-error every rule says what to do
  family({ name: "a", rules: [{ kind: "requires", fields: ["a"] }] });
  // @ts-expect-error there is no such unit
  family({ name: "a", prices: [{ usd: 1, per: "frame" }] });
});
