import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lifecyclePage } from "../../scripts/lifecycle-page.ts";

test("the page of the statecharts is drawn from the charts as they are", () => {
  expect(readFileSync(join(import.meta.dirname, "../../docs/lifecycle.md"), "utf8")).toBe(lifecyclePage());
});
