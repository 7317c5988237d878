/** Which tests a change needs: the wings of the repository, their dependencies, and the tests that always run. */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

interface Wing {
  /** How the paths of the wing's files begin. Default: the folders in `src` and `test` that have the wing's name. */
  readonly paths?: readonly string[];
  /** Wings whose changes can break this one, because its code imports them or its tests use them. */
  readonly on: readonly string[];
  /** Folders with packages that the wing's full tests need, and that `npm ci` does not install. */
  readonly installs?: readonly string[];
}

export const WINGS: Readonly<Record<string, Wing>> = {
  core: { on: ["local-service"], installs: ["test/core/providers", "test/core/marks/c2pa"] },
  "local-service": { on: ["core"] },
  migrate: { on: ["core"] },
  film: { on: ["core"] },
  testing: { on: ["core"] },
  fleet: { on: ["core"], installs: ["test/fleet/worker/restate"] },
  studio: { on: ["core"] },
  cli: {
    paths: ["src/cli/", "test/cli/", "test/demo/", "bin/"],
    on: ["film", "migrate", "fleet", "studio"],
    installs: ["test/fleet/worker/restate"],
  },
  tree: {
    paths: [
      ...["architecture", "bench", "docs", "mutation", "package", "recipes"].map((folder) => `test/${folder}/`),
      ...["docs/", "recipes/", "scripts/", "README.md"],
    ],
    on: ["cli"],
    installs: ["test/fleet/worker/restate"],
  },
};

export const pathsOf = (wing: string) => WINGS[wing]!.paths ?? [`src/${wing}/`, `test/${wing}/`];

/** Tests that CI runs after every change: one for each thing outside this process that a change can break. */
export const OUTSIDE: Readonly<Record<string, string>> = {
  "a kill": "test/cli/interrupted.long.test.ts",
  "a terminal": "test/cli/terminal.long.test.ts",
  "the dashboard in a browser, with its accessibility": "test/studio/dashboard/screens.long.test.ts",
  "the journal on PostgreSQL": "test/core/journal/postgres-store.long.test.ts",
  "the engine on pg-boss": "test/fleet/worker/pg-boss.long.test.ts",
  "an install from the tarballs in an empty folder": "test/package/package.long.test.ts",
  "MCP over stdio": "test/studio/mcp/tools.long.test.ts",
  "a typed client of the handler": "test/studio/handler/typed-client.long.test.ts",
  "a recipe": "test/recipes/servers.long.test.ts",
  "the demo, played in a browser": "test/demo/demo.long.test.ts",
};

/** Files that no tests check. */
const NO_WING =
  /^(?:\.changeset|\.github|\.ci\/passed|\.gitignore|LICENSE|CHANGELOG|CONTRIBUTING|SECURITY|docs\/(?:internal|site))/;

/** Returns the wings of changed files, and the wings that depend on them; all wings for a file outside of them. */
export function wingsOf(files: readonly string[]): {
  readonly changed: readonly string[];
  readonly built: readonly string[];
} {
  const all = Object.keys(WINGS);
  const changed = new Set<string>();
  const built = new Set<string>();
  for (const file of files.filter((one) => !NO_WING.test(one))) {
    const wing = all.find((name) => pathsOf(name).some((path) => file.startsWith(path)));
    for (const name of wing === undefined ? all : [wing]) changed.add(name);
    // A test cannot change how other wings behave.
    if (!file.startsWith("test/") && wing !== undefined) built.add(wing);
  }
  for (const one of built) for (const name of all) if (WINGS[name]!.on.includes(one)) built.add(name);
  return { changed: [...changed], built: [...built].filter((name) => !changed.has(name)) };
}

export const testFoldersOf = (wing: string) => pathsOf(wing).filter((path) => path.startsWith("test/"));

/** Returns the test files of wings whose names have this ending, such as `.long.test.ts`, in the order of the wings. */
export function testsOf(wings: readonly string[], ending: string): readonly string[] {
  return wings.flatMap((name) => {
    const folders = testFoldersOf(name).map((folder) => `${folder}**/*${ending}`);
    return globSync(folders, { cwd: root, exclude: ["**/node_modules/**"] }).toSorted();
  });
}

/** Returns the files changed since the last commit that passed CI, and that commit; null if it is not in this clone. */
export function changedFiles(): { readonly since: string; readonly files: readonly string[] } | null {
  const named = process.env.CI_BASE || readFileSync(join(root, ".ci/passed"), "utf8").trim();
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    const changed = git("diff", "--name-only", "-z", "--no-renames", named, "--");
    const added = git("ls-files", "-z", "--others", "--exclude-standard");
    return { since: named, files: `${changed}${added}`.split("\0").filter((file) => file !== "") };
  } catch {
    console.log(`This clone does not contain ${named}, the last commit that passed CI (from CI_BASE or .ci/passed).`);
    return null;
  }
}
