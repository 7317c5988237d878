import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manifestOf, PUBLISHED, shippedPackages } from "../../scripts/published.ts";
import { notices, PARTS, partsOf } from "../../scripts/third-party-notices.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const both = PUBLISHED.map((published) => [published.name, published] as const);

test.each(both)(
  "the third-party notices of %s list every installed package and compiled part, with its text",
  (_name, published) => {
    const text = notices(published);
    const lines = new Set(text.split("\n"));
    for (const { name, version, licence, text: own } of shippedPackages(published)) {
      expect(lines).toContain(`| \`${name}\` | ${version} | ${licence} |`);
      if (own !== null) expect(text).toContain(own);
    }
    for (const { name } of partsOf(published)) expect(text).toContain(`| ${name} | `);
  },
);

test.each(both)(
  "every package that an install of %s brings is listed with a licence, and none is GPL",
  (_name, published) => {
    const listed = new Map(shippedPackages(published).map(({ name, licence }) => [name, licence]));
    for (const name of [...Object.keys(manifestOf(published).dependencies), ...published.bundled]) {
      expect([name, listed.has(name)]).toEqual([name, true]);
    }
    for (const [name, licence] of listed) {
      expect([name, licence]).not.toEqual([name, "see its text"]);
      expect([name, /(^|[^L])A?GPL/.test(licence)]).toEqual([name, false]);
    }
  },
);

test("both packages have one version", () => {
  const [first, ...others] = PUBLISHED.map((published) => manifestOf(published).version);
  expect(others).toEqual([first]);
});

test("every package with a WebAssembly part inside names that part and its licence", () => {
  const all = PUBLISHED.flatMap((published) => Object.keys(manifestOf(published).dependencies));
  const wasm = [...new Set(all)].filter((name) => /encoder|decoder|flite/.test(name));
  expect([...new Set(PARTS.map(({ within }) => within))].sort()).toEqual(wasm.sort());
  for (const word of ["LAME", "FFmpeg", "libmpg123", "libmp4v2", "Flite"]) {
    expect(PARTS.some(({ name }) => name.includes(word))).toBe(true);
  }
});

test("both packages are published with provenance and their papers", () => {
  for (const [, { folder }] of both) {
    const { publishConfig } = JSON.parse(read(join(folder, "package.json"))) as { readonly publishConfig: unknown };
    expect(publishConfig).toEqual({ access: "public", provenance: true });
  }
  const workflow = read(".github/workflows/release.yml");
  for (const line of [
    "id-token: write",
    "npm publish --access public",
    "npm publish ./dist/local --access public",
    "scripts/sbom.ts showrunner showrunner.cdx.json",
    "scripts/sbom.ts showrunner-local showrunner-local.cdx.json",
  ]) {
    expect(workflow).toContain(line);
  }
  expect(workflow).not.toContain("secrets.");
});

test("what workflows run of others is named by its commit, which nobody can move", () => {
  const used = globSync(".github/workflows/*.yml", { cwd: root }).flatMap((path) =>
    [...read(path).matchAll(/uses: *(\S+)/g)].map(([, action]) => action!),
  );
  expect(used.length).toBeGreaterThan(5);
  expect(
    used.filter((action) => !action.startsWith("./.github/") && !/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(action)),
  ).toEqual([]);
});
