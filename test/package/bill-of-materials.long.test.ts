import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manifestOf, PUBLISHED, shippedPackages } from "../../scripts/published.ts";
import { partsOf } from "../../scripts/third-party-notices.ts";

const root = join(import.meta.dirname, "../..");
const both = PUBLISHED.map((published) => [published.name, published] as const);

test.each(both)(
  "the bill of materials of %s is CycloneDX and holds every dependency and every compiled part",
  (name, published) => {
    const text = execFileSync(process.execPath, ["scripts/sbom.ts", name], { cwd: root, encoding: "utf8" });
    const bom = JSON.parse(text) as {
      readonly metadata: { readonly component: { readonly name: string; readonly "bom-ref": string } };
      readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
      readonly bomFormat: string;
      readonly components: readonly { readonly name: string; readonly "bom-ref": string }[];
    };
    expect(bom.bomFormat).toBe("CycloneDX");
    const names = new Set(bom.components.map(({ name }) => name));
    const flat = (name: string) => names.has(name) || names.has(name.split("/").at(-1)!);
    expect(names.has("vitest")).toBe(false);
    const wanted = [...shippedPackages(published), ...partsOf(published)].map((one) => one.name);
    expect(wanted.filter((one) => !flat(one))).toEqual([]);
    const { component } = bom.metadata;
    expect(component.name).toBe(name);
    const direct = bom.dependencies.find(({ ref }) => ref === component["bom-ref"])!.dependsOn;
    expect(direct).toHaveLength(Object.keys(manifestOf(published).dependencies).length + published.bundled.length);
    expect(new Set(bom.components.map((one) => one["bom-ref"])).size).toBe(bom.components.length);
  },
);
