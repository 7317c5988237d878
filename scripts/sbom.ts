/** Writes the CycloneDX bill of materials of a published package: `node scripts/sbom.ts PACKAGE [FILE]` (default: stdout). */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { manifestOf, PUBLISHED, root, shippedPackages } from "./published.ts";
import { partsOf } from "./third-party-notices.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly [field: string]: unknown;
}

interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly [field: string]: unknown;
}

const [wanted, file] = process.argv.slice(2);
const published = PUBLISHED.find(({ name }) => name === wanted);
if (published === undefined) {
  process.stderr.write(`usage: node scripts/sbom.ts ${PUBLISHED.map(({ name }) => name).join("|")} [FILE]\n`);
  process.exit(2);
}
const text = execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"], {
  cwd: root,
  encoding: "utf8",
  maxBuffer: 64 * 1024 * 1024,
  stdio: ["ignore", "pipe", "inherit"],
});
// npm describes the whole repository, including development packages; only the installed packages are kept.
const bom = JSON.parse(text) as Bom;
const { name, version, description, license, dependencies: direct } = manifestOf(published);
const shipped = new Set(shippedPackages(published).map((one) => `${one.name}@${one.version}`));
const components = bom.components.filter((one) => shipped.has(`${one.name}@${one.version}`));
const refs = new Set(components.map((one) => one["bom-ref"]));
const self = {
  ...{ "bom-ref": `${name}@${version}`, type: "library", name, version, description },
  ...{ purl: `pkg:npm/${name}@${version}`, licenses: [{ license: { id: license } }] },
};
const own = components.filter((one) => Object.hasOwn(direct, one.name) || published.bundled.includes(one.name));
const dependencies = [
  { ref: self["bom-ref"], dependsOn: own.map((one) => one["bom-ref"]) },
  ...bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) })),
];
// Libraries compiled into the WebAssembly of other packages, which npm cannot detect.
const parts = partsOf(published).map(({ name, within, licence, source }) => ({
  "bom-ref": `${within}#${name}`,
  type: "library",
  name,
  licenses: [{ license: { id: licence } }],
  externalReferences: [{ type: "website", url: source }],
}));
const metadata = { ...bom.metadata, component: self };
const whole = `${JSON.stringify({ ...bom, metadata, components: [...components, ...parts], dependencies }, null, 2)}\n`;
if (file === undefined) process.stdout.write(whole);
else writeFileSync(file, whole);
