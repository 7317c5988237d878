import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { builtClient } from "./support/built-client.ts";

test("the client has no dependencies and at most 6 kB compressed", async () => {
  const code = await builtClient();
  expect(code).not.toMatch(/^import|\bimport\(/m);
  expect(gzipSync(code).length).toBeLessThanOrEqual(6_000);
});
