import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "./support/code-blocks.ts";

/** Everything that people read, or that is run for them. */
const files = [
  ...["*.{md,json}", "bin/*", "docs/*.{md,txt}", "src/**/*.{ts,tsx,md,json}", "scripts/*.ts", "docs/site/*.ts"],
  ...["recipes/**/*.{ts,md,yaml,yml}", "recipes/**/Dockerfile", ".github/**/*.yml"],
].flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ["THIRD_PARTY_NOTICES.md", "package-lock.json"] }));

/** A command that fetches one of our packages by its name, or a page of it at npm. */
const FETCHES =
  /(?:\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|exec)\b[^\n`"&\\]*|\bnpx\s+(?:-y|--yes|-p|--package)\s+|npmjs\.com\/package\/)(?<![\w@./-])showrunner(?:-local)?(?![\w./-])/g;

/** README's warning, which names the package. */
const WARNING = "Don't install `showrunner` from npm: it isn't this project.";

test("nobody is told to install a package from npm that is not there", () => {
  expect(readFileSync(`${root}/README.md`, "utf8")).toContain(WARNING);
  const found = files.flatMap((file) => {
    const text = readFileSync(`${root}/${file}`, "utf8").replace(WARNING, "");
    return [...text.matchAll(FETCHES)].map(([command]) => `${file}: ${command}`);
  });
  expect(found).toEqual([]);
});
