import { expect, test } from "vitest";
import { COVERAGE_TESTS, filesOf, GROUPS } from "../mutation/files.ts";

test("every pattern of the mutation tests and the coverage matches a file", () => {
  // The patterns are evaluated when the module is loaded.
  const covered = Object.values(GROUPS).flatMap(({ mutate, tests }) => [...mutate, ...tests]);
  expect(covered).toContain("src/core/run/scheduler.ts");
  expect(COVERAGE_TESTS).toContain("test/core/run/scheduler.test.ts");
  expect(() => filesOf(["src/core/{plan,moved}/*.ts"])).toThrow("No file matches src/core/moved/*.ts.");
});
