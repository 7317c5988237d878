import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { notices, PARTS, shippedPackages } from "../../scripts/third-party-notices.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const { dependencies, files, publishConfig } = JSON.parse(read("package.json")) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly publishConfig: unknown;
};

test("the third-party notices are what the tree says now", () => {
  expect(read("THIRD_PARTY_NOTICES.md")).toBe(notices());
});

test("every package that an install brings is listed with a licence, and none of them is GPL", () => {
  const listed = new Map(shippedPackages().map(({ name, licence }) => [name, licence]));
  for (const name of [...Object.keys(dependencies), "preact", "@dagrejs/dagre"]) expect(listed.has(name)).toBe(true);
  for (const [name, licence] of listed) {
    expect([name, licence]).not.toEqual([name, "see its text"]);
    expect([name, /(^|[^L])A?GPL/.test(licence)]).toEqual([name, false]);
  }
});

test("every package with a WebAssembly part inside names that part and its licence", () => {
  const wasm = Object.keys(dependencies).filter((name) => /encoder|decoder|flite/.test(name));
  expect([...new Set(PARTS.map(({ within }) => within))].sort()).toEqual(wasm.sort());
  for (const word of ["LAME", "FFmpeg", "libmpg123", "libmp4v2", "Flite"]) {
    expect(PARTS.some(({ name }) => name.includes(word))).toBe(true);
  }
});

test("the bill of materials is CycloneDX and holds every dependency and every compiled part", () => {
  const bom = JSON.parse(execFileSync(process.execPath, ["scripts/sbom.ts"], { cwd: root, encoding: "utf8" })) as {
    readonly bomFormat: string;
    readonly components: readonly { readonly name: string; readonly "bom-ref": string }[];
  };
  expect(bom.bomFormat).toBe("CycloneDX");
  const names = new Set(bom.components.map(({ name }) => name));
  const flat = (name: string) => names.has(name) || names.has(name.split("/").at(-1)!);
  expect(names.has("vitest")).toBe(false);
  expect([...Object.keys(dependencies), ...PARTS.map(({ name }) => name)].filter((name) => !flat(name))).toEqual([]);
  expect(new Set(bom.components.map((one) => one["bom-ref"])).size).toBe(bom.components.length);
});

test("a release is published with provenance and carries its papers", () => {
  expect(publishConfig).toEqual({ access: "public", provenance: true });
  for (const file of ["LICENSE", "SECURITY.md", "THIRD_PARTY_NOTICES.md"]) {
    expect([file, files.includes(file), existsSync(join(root, file))]).toEqual([file, true, true]);
  }
  const workflow = read(".github/workflows/release.yml");
  for (const line of ["id-token: write", "npm publish", "scripts/sbom.ts", "scripts/third-party-notices.ts --check"]) {
    expect(workflow).toContain(line);
  }
});
