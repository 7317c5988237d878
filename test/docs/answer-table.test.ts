import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { guaranteesPage } from "../../scripts/answer-table.ts";

test("docs/internal/guarantees.md holds the table of answers as the engine reads it; `node scripts/answer-table.ts` writes it", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/internal/guarantees.md"), "utf8");
  expect(page).toBe(guaranteesPage(page));
});
