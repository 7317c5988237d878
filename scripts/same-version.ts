/** Sets the root's version to the workspace's, in the manifest and the lock file, after changesets has changed it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifestOf, PUBLISHED, root } from "./published.ts";

interface Versioned {
  version: string;
  readonly packages?: Readonly<Record<string, { version?: string }>>;
}

const { version } = manifestOf(PUBLISHED[1]!);
for (const file of ["package.json", "package-lock.json"]) {
  const path = join(root, file);
  const document = JSON.parse(readFileSync(path, "utf8")) as Versioned;
  document.version = version;
  for (const { folder } of PUBLISHED) if (document.packages?.[folder]) document.packages[folder].version = version;
  writeFileSync(path, `${JSON.stringify(document, null, 2)}\n`);
}
