import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MediaCache } from "../../../../src/core/engine/media/bucket/bucket-store.ts";
import { newFolder } from "../../../support/temporary-folder.ts";

const KB = 1000;
let folder: string;
beforeEach(() => {
  folder = newFolder();
});
afterEach(() => vi.restoreAllMocks());

const copies = () =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /^[0-9a-f]{2}\/[0-9a-f]{64}$/.test(name));
const stored = () => copies().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

async function taken(cache: MediaCache, sizeBytes: number) {
  const spooled = await cache.spool({ bytes: randomBytes(sizeBytes) });
  await cache.take(spooled);
  return spooled.sha256;
}

/** As if everything until now had been used long ago. */
function hoursPass(): void {
  const now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now + 3_600_000);
}

test("copies stay below their limit, those used longest ago go first, and what somebody holds stays readable", async () => {
  const [cache, other] = [await MediaCache.open(folder, 20 * KB), await MediaCache.open(folder, 20 * KB)];
  const first = await taken(cache, 9 * KB);
  const second = await taken(other, 9 * KB);
  // A time of its own for each use.
  await new Promise((done) => setTimeout(done, 20));
  const held = join(await cache.makeFolder(), "held");
  expect(await cache.link(first, held)).toBe(9 * KB);
  hoursPass();
  const third = await taken(cache, 9 * KB);
  expect([await other.has(first), await other.has(second), await other.has(third)]).toEqual([true, false, true]);
  const fourth = await taken(other, 17 * KB);
  expect(copies().map((name) => name.slice(3))).toEqual([fourth]);
  expect(readFileSync(held)).toHaveLength(9 * KB);
  expect(await cache.link(first, `${held}-again`)).toBeNull();
});

test("copies that were used in the last minutes stay, whatever room they take", async () => {
  const cache = await MediaCache.open(folder, 10 * KB);
  for (let n = 0; n < 4; n += 1) await taken(cache, 9 * KB);
  expect(stored()).toBe(36 * KB);
  hoursPass();
  await taken(cache, 1);
  expect(stored()).toBeLessThanOrEqual(10 * KB);
});

test("a copy that somebody changed is none, and a link to it changes nothing of it", async () => {
  const cache = await MediaCache.open(folder, 20 * KB);
  const sha256 = await taken(cache, KB);
  const [path] = copies();
  const links = await cache.makeFolder();
  expect(await cache.link(sha256, join(links, "one"))).toBe(KB);
  await rm(links, { recursive: true });
  expect(await cache.has(sha256)).toBe(true);
  writeFileSync(join(folder, path!), randomBytes(KB));
  expect(await cache.has(sha256)).toBe(false);
  expect(await cache.link(sha256, join(await cache.makeFolder(), "one"))).toBeNull();
  expect(copies()).toEqual([]);
});
