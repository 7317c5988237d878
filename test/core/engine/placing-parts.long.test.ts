import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { createMemoryJournal, type JournalStore } from "../../../src/index.ts";
import { openFakeShow, pipelineOf } from "../../support/engine.ts";
import { overriding } from "../../support/overriding.ts";

const FILES = 300;

const sheets = pipelineOf("sheets", ({ task }) => {
  const names = Array.from({ length: FILES }, (_, index) => `sheet-${index}`);
  const files = Object.fromEntries(names.map((name) => [name, "image"] as const));
  const picture = greyPng(8);
  const made = task(
    "make",
    {},
    (_, context) => Promise.all(names.map((name) => writeFile(context.file(name), picture))),
    { files },
  );
  return { made };
});

/** How many files each commit names; from the `dieAt`-th of such commits on, none comes through. */
function watched(journal: JournalStore, dieAt: number): { readonly journal: JournalStore; readonly commits: number[] } {
  const commits: number[] = [];
  const commit: JournalStore["commit"] = async (one) => {
    const named = one.events.filter(({ type }) => type === "file.placed").length;
    if (named > 0 && commits.push(named) >= dieAt) throw new Error("the disk is gone");
    return journal.commit(one);
  };
  return { journal: overriding(journal, { commit }), commits };
}

async function place(journal: JournalStore, from: Partial<{ outDir: string; mediaDir: string }> = {}) {
  const { run, resume, ...world } = await openFakeShow({ journal, ...(from.mediaDir && { mediaDir: from.mediaDir }) });
  const outDir = from.outDir ?? world.outDir;
  const ended = await (from.outDir === undefined ? run(sheets) : resume()).catch((error: Error) => error);
  return { ended, outDir, mediaDir: world.mediaDir };
}

test("many named files are written down in parts, and after a death between two of them only the others are placed", async () => {
  const journal = createMemoryJournal();
  const dying = watched(journal, 2);
  const first = await place(dying.journal);
  expect(first.ended).toBeInstanceOf(Error);
  // The last of them is tried once more before the run is given up.
  expect(dying.commits).toEqual([250, 50, 50]);

  const calm = watched(journal, Number.POSITIVE_INFINITY);
  const { ended } = await place(calm.journal, first);
  expect(ended).toMatchObject({ status: "succeeded" });
  expect(calm.commits).toEqual([50]);
  expect(readdirSync(first.outDir)).toHaveLength(2 * FILES);
});
