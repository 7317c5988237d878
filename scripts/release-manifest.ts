/**
 * Before a release: writes where the source is into both manifests, as provenance demands, from GITHUB_REPOSITORY. npm then leads the
 * relative links of the README there. `published` lets messages name the packages: until a release no message tells to install them by name.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./published.ts";

const repository = process.env.GITHUB_REPOSITORY;
if (repository === undefined) throw new Error("GITHUB_REPOSITORY is not set: owner/name of the repository");
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
