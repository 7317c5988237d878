/** Writes the tables and pictures of docs/performance.md out of bench/results: `node bench/write-page.ts`. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ResultFile } from "./harness.ts";
import { filled, pictures } from "./page.ts";

const root = join(import.meta.dirname, "..");

/** Files of the project with what they should hold. */
export function generated(): Readonly<Record<string, string>> {
  const folder = join(root, "bench", "results");
  const files = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as ResultFile);
  const parts: ResultFile["parts"] = Object.assign({}, ...files.map((file) => file.parts));
  const page = join("docs", "performance.md");
  const made: Record<string, string> = { [page]: filled(readFileSync(join(root, page), "utf8"), parts) };
  for (const [name, part] of Object.entries(parts)) {
    for (const { file, draw } of pictures[name] ?? []) made[join("docs", "pictures", file)] = draw(part);
  }
  return made;
}

if (import.meta.main) {
  for (const [file, content] of Object.entries(generated())) writeFileSync(join(root, file), content);
}
