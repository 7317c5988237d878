/** The README as somebody types it, top to bottom: a clone, then a folder beside it, with no network but npm's registry. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { startLocalService } from "../../src/local-service/index.ts";
import { WALKS } from "../docs/support/walks.ts";
import { root } from "./support/packed.ts";
import { writeInto } from "./support/project.ts";
import { filesOf, typePage } from "./support/type-page.ts";

const minutes = 60_000;
vi.setConfig({ testTimeout: 20 * minutes });

/** What a clone does not have, and what a build of the site writes meanwhile. */
const MADE = new Set([
  ".git",
  ".showrunner",
  "node_modules",
  "dist",
  "packed",
  "coverage",
  "out",
  ".pages",
  ".vitepress",
]);

test("README.md works from its first line to its last", async () => {
  const base = mkdtempSync(join(tmpdir(), "showrunner-readme-"));
  const clone = join(base, "showrunner");
  cpSync(root, clone, { recursive: true, filter: (path) => !MADE.has(basename(path)) });
  writeInto(base, filesOf("README.md"));
  const service = await startLocalService({ renderer: "stub", balance: 100 });
  const refused = join(base, "refused.txt");
  const guard = pathToFileURL(join(import.meta.dirname, "support/registry-only.mjs")).href;
  const program = (name: string) => dirname(execFileSync("which", [name], { encoding: "utf8" }).trim());
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(SHOWRUNNER|VITEST|NODE_ENV$|npm_(?!config))/.test(name),
  );
  const env = {
    ...Object.fromEntries(kept.map(([name, value = ""]) => [name, value])),
    PATH: [dirname(process.execPath), program("npm"), "/usr/bin", "/bin"].join(delimiter),
    // npm's settings and cache.
    HOME: homedir(),
    NODE_OPTIONS: `--import ${guard}`,
    TEST_REGISTRY: execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim(),
    TEST_REFUSED: refused,
  };
  try {
    await typePage("README.md", WALKS["README.md"]!, { folder: clone, bin: "", service, env, timeoutMs: 18 * minutes });
  } finally {
    await service.close();
  }
  expect(existsSync(refused) ? readFileSync(refused, "utf8") : "", "hosts that something wanted to reach").toBe("");
  const out = join(base, "films", "out");
  expect(statSync(join(out, "boat", "film.mp4")).size).toBeGreaterThan(50_000);
  rmSync(base, { recursive: true, force: true });
});
