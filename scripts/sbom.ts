/** Writes the CycloneDX bill of materials of what an install brings: `node scripts/sbom.ts [FILE]`, else to stdout. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PARTS, shippedPackages } from "./third-party-notices.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly [field: string]: unknown;
}

interface Bom {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly [field: string]: unknown;
}

const [file] = process.argv.slice(2);
const npm = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
const text = execFileSync("npm", npm, {
  cwd: join(import.meta.dirname, ".."),
  encoding: "utf8",
  maxBuffer: 64 * 1024 * 1024,
  stdio: ["ignore", "pipe", "inherit"],
});
const bom = JSON.parse(text) as Bom;
// npm's own way to leave development packages out also leaves out some that both need.
const shipped = new Set(shippedPackages().map(({ name, version }) => `${name}@${version}`));
const components = bom.components.filter(({ name, version }) => shipped.has(`${name}@${version}`));
const isGone = new Set(bom.components.filter((one) => !components.includes(one)).map((one) => one["bom-ref"]));
const dependencies = bom.dependencies
  .filter(({ ref }) => !isGone.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => !isGone.has(other)) }));
// What npm cannot know: libraries compiled into WebAssembly of other packages.
const parts = PARTS.map(({ name, within, licence, source }) => ({
  "bom-ref": `${within}#${name}`,
  type: "library",
  name,
  licenses: [{ license: { id: licence } }],
  externalReferences: [{ type: "website", url: source }],
}));
const whole = `${JSON.stringify({ ...bom, components: [...components, ...parts], dependencies }, null, 2)}\n`;
if (file === undefined) process.stdout.write(whole);
else writeFileSync(file, whole);
