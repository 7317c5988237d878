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
  const page = "<!-- bench: engine --><!-- end -->";
  expect(filled(page, parts)).toBe(filled(page, all));
});

const part = {
  ...{ measuredAt: "2026-01-02T03:04:05.000Z", commit: "abc1234", machine: "a machine", notes: ["a note"] },
  figures: [{ group: "g", name: "speed", unit: "steps/s", samples: [1, 3, 2], bar: { least: 5 } }],
  curves: [],
};

test("a part of the page is filled with its tables, what it held before is gone, and all else stays", () => {
  const page = "before\n<!-- bench: engine -->\nold\n<!-- end -->\nafter\n";
  const now = filled(page, { engine: part });
  expect(now).toContain("| speed | 2 | 1 | 3 | steps/s | ≥ 5 | ✗ |");
  expect(now).toContain("Measured 2026-01-02 at abc1234 on a machine.");
  expect(now).toContain("- a note");
  expect(now).not.toContain("old");
  expect(now.startsWith("before\n") && now.endsWith("\nafter\n")).toBe(true);
  expect(filled(now, { engine: part })).toBe(now);
});

test("a part that was never measured says so", () => {
  expect(filled("<!-- bench: jobs --><!-- end -->", {})).toContain("Not measured yet.");
});
