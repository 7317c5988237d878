import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filled } from "./page.ts";
import { generated, summarized } from "./write-page.ts";

const root = join(import.meta.dirname, "..", "..");

test.each(Object.entries(generated()))(
  "%s is what the stored results make: node test/bench/write-page.ts",
  (file, content) => {
    expect(readFileSync(join(root, file), "utf8")).toBe(content);
  },
);

test("the summary keeps minimum, median and maximum of each figure, and makes the same page as all samples", () => {
  const samples = [5, 1, 4, 2, 9];
  const all = { engine: { ...part, figures: [{ group: "g", name: "speed", unit: "steps/s", samples }] } };
  const { parts } = JSON.parse(summarized(all)) as { readonly parts: typeof all };
  expect(parts.engine.figures[0]!.samples).toEqual([1, 4, 9]);
  const page = "<!-- bench --><!-- end -->";
  expect(filled(page, parts)).toBe(filled(page, all));
});

const part = {
  ...{ measuredAt: "2026-01-02T03:04:05.000Z", commit: "abc1234", machine: "a machine", notes: ["a note"] },
  figures: [
    { group: "g", name: "speed", unit: "steps/s", samples: [1, 3, 2], bar: { least: 5 } },
    { group: "g", name: "rival", unit: "steps/s", samples: [1] },
    { group: "g", name: "unrivalled", unit: "ms", samples: [1] },
  ],
  curves: [
    {
      group: "g",
      name: "run",
      unit: "ms",
      bar: { most: 1.05 },
      points: [10, 100].map((size) => ({ size, value: size / 10 })),
    },
  ],
};

test("the page is filled with a row for what has a bar or rivals, what it held before is gone, and all else stays", () => {
  const page = "before\n<!-- bench -->\nold\n<!-- end -->\nafter\n";
  const now = filled(page, { engine: part });
  expect(now).toContain(
    "| g: speed | 2 steps/s | bar ≥ 5 ✗; rival 1 | `npm run bench -- engine` | 2026-01-02, abc1234 |",
  );
  expect(now).toContain("| g: run | 10 ms at 100 | exponent of growth 1; bar ≤ 1.05 ✓ |");
  expect(now).not.toMatch(/old|unrivalled/);
  expect(now.startsWith("before\n") && now.endsWith("\nafter\n")).toBe(true);
  expect(filled(now, { engine: part })).toBe(now);
});
