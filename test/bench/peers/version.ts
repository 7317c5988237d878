import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Version of an installed package. */
export function versionOf(name: string): string {
  const file = join(import.meta.dirname, "node_modules", name, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}
