/** Whatever bytes a file has, reading it comes to an end, and the next file is read. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MediaReader } from "../../../../src/core/engine/media/media-reader.ts";
import { mediaSamples, type SampleName } from "../../../local-service/support/media-samples.ts";
import { isFull } from "../../../support/sample.ts";
import { newFolder } from "../../../support/temporary-folder.ts";

/** 1,000 of a check of every change; 100,000 of a full one. */
const FILES = isFull ? 100 * Number(process.env.SHOWRUNNER_TEST_RUNS) : 120;

const samples = await mediaSamples();
const names = Object.keys(samples) as SampleName[];

const folder = newFolder();

/** Sizes that send a reader of boxes astray. */
const SIZES = [
  ...["00000000", "00000001", "ffffffff", "7fffffff", "000000010000000000000000"],
  ...["01ffffffffffffff", "ec80", "ececececececececec"],
];

/** What is written over, put in or taken out somewhere in a file; the beginning, where its structure is, more often. */
const mutation = fc.record({
  at: fc.oneof(fc.nat(64), fc.nat(1024), fc.nat(1_000_000)),
  how: fc.constantFrom("write", "insert", "remove", "cut", "repeat"),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 12 }),
    fc.constantFrom(...SIZES.map((hex) => Buffer.from(hex, "hex"))),
  ),
});

function mutated(original: Buffer, mutations: readonly { at: number; how: string; bytes: Uint8Array }[]): Buffer {
  return mutations.reduce((file, { at: given, how, bytes }) => {
    const at = given % (file.length + 1);
    const [before, after] = [file.subarray(0, at), file.subarray(at)];
    if (how === "cut") return before;
    if (how === "remove") return Buffer.concat([before, after.subarray(bytes.length)]);
    if (how === "insert") return Buffer.concat([before, bytes, after]);
    if (how === "repeat") return Buffer.concat([before, ...Array.from({ length: 40 }, () => bytes), after]);
    return Buffer.concat([before, bytes, after.subarray(bytes.length)]);
  }, original);
}

const title = `${FILES} mutated files of every kind that is accepted are read or refused, each in time`;
test(title, { timeout: 60_000 + 20 * FILES }, async () => {
  // Nobody's files are left unread for what those before them cost.
  const limits = { memoryMb: 256, wasteMs: Number.POSITIVE_INFINITY };
  const readers = {
    /** Of pictures, each of which is got through. */
    patient: new MediaReader({ ...limits, deadlineMs: 5_000 }),
    /** Of containers: their readers do not come to an end with some, which are then waited for. */
    hasty: new MediaReader({ ...limits, deadlineMs: 250 }),
    /** Asked once more, as a busy machine may take so long for what does come to an end. */
    again: new MediaReader({ ...limits, deadlineMs: 2_000 }),
  };
  const path = join(folder, "mutant");
  const unread: SampleName[] = [];
  const file = fc.tuple(fc.constantFrom(...names), fc.array(mutation, { minLength: 1, maxLength: 4 }));
  await fc.assert(
    fc.asyncProperty(file, async ([name, mutations]) => {
      const { bytes, kind, contentType, width, height, durationMs } = samples[name];
      await writeFile(path, mutated(bytes, mutations));
      const stated = { contentType, width, height, durationMs };
      const reader = kind === "image" ? readers.patient : readers.hasty;
      const isUnread = async (by: MediaReader) =>
        "isUnread" in (await by.ask({ name: "facts", path, kind })) ||
        "isUnread" in (await by.ask({ name: "damage", path, stated }));
      if ((await isUnread(reader)) && (await isUnread(readers.again))) unread.push(name);
    }),
    { numRuns: FILES },
  );
  // Those of pictures, and our own of every file's end, always come to an end.
  expect(unread.filter((name) => samples[name].kind === "image")).toEqual([]);
  expect(unread.length).toBeLessThan(Math.max(5, FILES / 200));
  await writeFile(path, samples.png.bytes);
  for (const reader of Object.values(readers)) {
    const facts = await reader.ask({ name: "facts", path, kind: "image" });
    expect(facts).toMatchObject({ is: { width: 96, height: 64 } });
  }
});
