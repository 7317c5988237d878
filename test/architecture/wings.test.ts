import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { OUTSIDE, pathsOf, testsOf, WINGS, wingsOf } from "../../scripts/wings.ts";

const root = resolve(import.meta.dirname, "../..");
const foldersOf = (kind: string) =>
  readdirSync(join(root, kind), { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));

test("each folder of src and of test is in one wing", () => {
  const folders = ["src", "test"].flatMap((kind) => foldersOf(kind).map((folder) => `${kind}/${folder}/`));
  const paths = Object.keys(WINGS).flatMap(pathsOf);
  const ofTree = paths.filter((path) => /^(src|test)\//.test(path));
  expect(ofTree.toSorted()).toEqual(folders.filter((folder) => folder !== "test/support/").toSorted());
});

test("a change of a folder touches the wing of every folder that imports it", () => {
  const page = readFileSync(join(root, "docs/internal/architecture.md"), "utf8");
  const [, table = ""] = page.split("| Folder of `src/` | Holds | Imports |\n");
  const rows = [...table.split("\n\n")[0]!.matchAll(/^\| `([\w-]+)` \|.*\| ([^|]+) \|$/gm)];
  expect(rows).toHaveLength(9);
  const missed = rows.flatMap(([, folder = "", imports = ""]) =>
    [...imports.matchAll(/`([\w/-]+)`/g)].flatMap(([, imported = ""]) => {
      const touched = wingsOf([`src/${imported}/a.ts`]);
      const isTouched = WINGS[folder] === undefined || [...touched.changed, ...touched.built].includes(folder);
      return isTouched ? [] : [`${folder} → ${imported}`];
    }),
  );
  expect(missed).toEqual([]);
});

test("a change is looked at in its wing and in what is built on it; a test, in its wing; what all share, in all", () => {
  expect(wingsOf(["test/cli/text.test.ts", "test/studio/mcp/a.test.ts"])).toEqual({
    changed: ["cli", "studio"],
    built: [],
  });
  expect(wingsOf(["src/studio/mcp/a.ts", "docs/cli.md"])).toEqual({ changed: ["studio", "tree"], built: ["cli"] });
  expect(wingsOf(["CHANGELOG.md", "docs/internal/decisions.md"])).toEqual({ changed: [], built: [] });
  for (const shared of ["package-lock.json", "src/index.ts", "test/support/listen.ts"])
    expect(wingsOf([shared]).changed).toEqual(Object.keys(WINGS));
});

test("every long file is in the tests of a wing, and those that CI always runs are there", () => {
  const long = execFileSync("find", ["test", "-name", "*.long.test.ts", "-not", "-path", "*/node_modules/*"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(testsOf(Object.keys(WINGS), ".long.test.ts").toSorted()).toEqual(long.trim().split("\n").toSorted());
  expect(Object.values(OUTSIDE).filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test("the nightly workflow runs every shard of the full check", () => {
  const { stderr } = spawnSync(process.execPath, [join(root, "scripts/check.ts"), "--full", "?"], { encoding: "utf8" });
  const shards = /^Unknown shard \?; use (.*)\.$/m.exec(stderr)?.[1]?.split(", ");
  const { jobs } = parse(readFileSync(join(root, ".github/workflows/full.yml"), "utf8"));
  expect(jobs.shard.strategy.matrix.shard).toEqual(shards);
});
