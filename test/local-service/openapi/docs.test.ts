import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { localServiceReference } from "../../../scripts/local-service-reference.ts";

const path = join(import.meta.dirname, "../../../docs/local-service.md");

test("the tables of docs/local-service.md are current (node scripts/local-service-reference.ts writes them)", async () => {
  const text = readFileSync(path, "utf8");
  expect(await localServiceReference(text)).toBe(text);
});

test("the docs say of every flag of serve what it changes in an answer, or that it changes none", () => {
  const section = (text: string, title: string) => text.split(`\n## ${title}\n`)[1]!.split("\n## ")[0]!;
  const flagsIn = (text: string) => new Set([...text.matchAll(/`--([a-z-]+)/g)].map(([, flag]) => flag));
  const reference = readFileSync(join(import.meta.dirname, "../../../docs/cli.md"), "utf8");
  const taken = flagsIn(section(reference, "serve"));
  expect(taken.size).toBeGreaterThan(15);
  expect(flagsIn(section(readFileSync(path, "utf8"), "Options that change an answer"))).toEqual(taken);
});
