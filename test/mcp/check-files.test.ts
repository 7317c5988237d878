import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { checkFiles } from "../../src/mcp/check-files.ts";

test("an input that is nested without end is refused, and says why", async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}"x"${"}".repeat(5_000)}`);
  await expect(checkFiles(deep, tmpdir())).rejects.toMatchObject({ message: "The input is nested too deeply" });
});

test("the disk is not asked for texts without number", async () => {
  const input = { many: Array.from({ length: 20_001 }, () => "") };
  await expect(checkFiles(input, tmpdir())).rejects.toMatchObject({
    message: "The input holds more than 20000 texts",
  });
});
