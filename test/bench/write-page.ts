/**
 * `node test/bench/write-page.ts [RESULTS …]`: folds results that benches wrote with `--json` into `test/bench/summary.json`, which the tree
 * keeps, and writes the table of docs/internal/performance.md from it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ResultFile } from "./harness.ts";
import { filled } from "./page.ts";
import { median } from "./stats.ts";

type Parts = ResultFile["parts"];

const root = join(import.meta.dirname, "../..");
const summary = join(root, "test/bench/summary.json");

const readParts = (file: string) => (JSON.parse(readFileSync(file, "utf8")) as ResultFile).parts;

/** Files of the project with what they should hold. */
export function generated(): Readonly<Record<string, string>> {
  const parts = readParts(summary);
  const page = join("docs", "internal", "performance.md");
  return { [page]: filled(readFileSync(join(root, page), "utf8"), parts) };
}

/** The parts with three samples a figure (minimum, median, maximum; a single one stays), as JSON of a line a figure or curve. */
export function summarized(parts: Parts): string {
  const lines = Object.entries(parts).map(([name, { figures, curves, ...part }]) => {
    const short = figures.map(({ samples, ...figure }) => ({
      ...figure,
      samples: samples.length === 1 ? samples : [Math.min(...samples), median(samples), Math.max(...samples)],
    }));
    const list = (all: readonly unknown[]) => `[${all.map((one) => `\n${JSON.stringify(one)}`).join(",")}]`;
    const head = JSON.stringify(part).slice(0, -1);
    return `${JSON.stringify(name)}: ${head},\n"figures": ${list(short)},\n"curves": ${list(curves)}}`;
  });
  return `{"parts": {\n${lines.join(",\n")}\n}}\n`;
}

if (import.meta.main) {
  const files = [summary, ...process.argv.slice(2)];
  writeFileSync(summary, summarized(Object.assign({}, ...files.map(readParts)) as Parts));
  for (const [file, content] of Object.entries(generated())) writeFileSync(join(root, file), content);
}
