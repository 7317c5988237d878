import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = join(import.meta.dirname, "fixtures/ending-thread.ts");

async function stderrOf(...args: readonly string[]): Promise<string> {
  const words = ["--disable-warning=ExperimentalWarning", script, ...args];
  return (await promisify(execFile)(process.execPath, words)).stderr;
}

test("a render thread that ends while it decodes leaves no complaint of a memory leak on stderr", async () => {
  expect(await stderrOf("gate")).toBe("");
}, 60_000);

test("without the gate it does: the test above can fail", async () => {
  expect(await stderrOf("at once")).toContain("ObjectRef is not unref");
}, 60_000);
