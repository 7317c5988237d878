/**
 * Before a release, writes the repository's URL from GITHUB_REPOSITORY into both manifests: npm requires it for provenance,
 * and resolves the relative links in the README against it. Also sets `published`; until then, no message suggests
 * installing the packages by name.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./published.ts";

const repository = process.env.GITHUB_REPOSITORY;
if (repository === undefined)
  throw new Error("GITHUB_REPOSITORY is not set; set it to the owner/name of the repository");
for (const [file, directory] of [
  ["package.json", undefined],
  ["dist/local/package.json", "src/local-service"],
] as const) {
  const path = join(root, file);
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Readonly<Record<string, unknown>>;
  const url = `https://github.com/${repository}`;
  const source = { type: "git", url: `git+${url}.git`, ...(directory !== undefined && { directory }) };
  const changed = {
    ...manifest,
    published: true,
    repository: source,
    homepage: `${url}#readme`,
    bugs: `${url}/issues`,
  };
  writeFileSync(path, `${JSON.stringify(changed, null, 2)}\n`);
}
