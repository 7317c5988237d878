import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cliReference } from "../../scripts/cli-reference.ts";
import { root } from "./support/code-blocks.ts";

test("docs/cli.md says what the commands say (node scripts/cli-reference.ts writes it)", () => {
  expect(readFileSync(join(root, "docs/cli.md"), "utf8")).toBe(cliReference());
});
