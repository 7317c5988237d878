import { readFileSync } from "node:fs";

let known: string | null = null;

/** The version of this package; read when it is first asked for. */
export function ownVersion(): string {
  if (known === null) {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    known = (JSON.parse(text) as { readonly version: string }).version;
  }
  return known;
}
