import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { localServiceReference } from "../../../scripts/local-service-reference.ts";

const path = join(import.meta.dirname, "../../../docs/local-service.md");

test("the tables of docs/local-service.md are current (node scripts/local-service-reference.ts writes them)", async () => {
  const text = readFileSync(path, "utf8");
  expect(await localServiceReference(text)).toBe(text);
});
