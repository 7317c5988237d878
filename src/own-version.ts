import { readFileSync } from "node:fs";

let known: string | null = null;

/** The version of this package; read when it is first asked for. */
export function ownVersion(): string {
  if (known === null) {
    const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
    known = (JSON.parse(text) as { readonly version: string }).version;
  }
  return known;
}

/** Whether the first version comes after the second; what follows a hyphen does not count. */
export function isNewerVersion(version: string, than: string): boolean {
  const parts = (text: string) => text.split("-")[0]!.split(".").map(Number);
  const [left, right] = [parts(version), parts(than)];
  const differs = left.findIndex((part, index) => part !== right[index]);
  return differs >= 0 && left[differs]! > (right[differs] ?? 0);
}
