import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { markFile, readMarks } from "../../../src/core/marks/index.ts";
import { makeSamples, sampleNames } from "./samples.ts";

const TRAINED = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";
const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 400);

let originals: readonly Buffer[];
let folder: string;

beforeAll(async () => {
  await using samples = await makeSamples();
  originals = await Promise.all(sampleNames.map((name) => readFile(samples.path(name))));
  folder = await mkdtemp(join(tmpdir(), "marks-"));
  // Files with XMP have more places to be damaged in.
  const marked = originals.map(async (bytes, index) => {
    const path = join(folder, `${index}`);
    await writeFile(path, bytes);
    await markFile(path, { digitalSourceType: "trainedAlgorithmicMedia" });
    return Buffer.from((await readFile(path)).toString("latin1").replaceAll("DigitalS", "DigitalZ"), "latin1");
  });
  originals = [...originals, ...(await Promise.all(marked))];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Heads decide, so half of the changes are near the beginning or the end. */
const place = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.double({ min: 0, max: 0.05, noNaN: true }),
  fc.double({ min: 0.9, max: 1, noNaN: true }),
);
const bytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 12 }),
  fc.constantFrom(
    ...["00000000", "00000001", "ffffffff", "7fffffff", "00000008"].map((hex) => Buffer.from(hex, "hex")),
  ),
);
const change = fc.record({ kind: fc.constantFrom("overwrite", "insert", "remove", "cut"), place, bytes });

function changed(
  original: Buffer,
  { kind, place, bytes }: typeof change extends fc.Arbitrary<infer T> ? T : never,
): Buffer {
  const at = Math.floor(place * original.length);
  const [before, after] = [original.subarray(0, at), original.subarray(at)];
  if (kind === "cut") return before;
  return Buffer.concat([
    before,
    ...(kind === "remove" ? [] : [bytes]),
    after.subarray(kind === "insert" ? 0 : bytes.length),
  ]);
}

test("a damaged file is marked so that the mark can be read, or stays as it was; nothing else is thrown [marks of foreign files]", async () => {
  const path = join(folder, "damaged");
  let marked = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.nat(originals.length - 1),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (index, changes) => {
        const damaged = changes.reduce(changed, originals[index]!);
        await writeFile(path, damaged);
        const marking = await markFile(path, { digitalSourceType: "trainedAlgorithmicMedia" });
        if (marking.status === "marked") {
          marked++;
          expect(await readMarks(path)).toMatchObject({ digitalSourceType: TRAINED, problem: null });
        } else expect((await readFile(path)).equals(damaged)).toBe(true);
      },
    ),
    { numRuns: runs },
  );
  expect(marked).toBeGreaterThan(runs / 40);
});

test("a file of nothing but tiny parts is given up, not read to its end", async () => {
  const path = join(folder, "parts");
  const box = Buffer.from("\0\0\0\x08free", "latin1");
  await writeFile(path, Buffer.concat(Array.from({ length: 70_000 }, () => box)));
  const reason = expect.stringContaining("more than 65536 parts");
  expect(await markFile(path, { digitalSourceType: "trainedAlgorithmicMedia" })).toMatchObject({
    status: "left",
    reason,
  });
});

test("tens of thousands of empty parts are read in a few pieces", async () => {
  const path = join(folder, "segments.jpg");
  await writeFile(path, Buffer.concat([Buffer.from("ffd8", "hex"), Buffer.from("ffee0002".repeat(65_000), "hex")]));
  const handle = await open(path);
  const reads = vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, "read");
  await handle.close();
  await readMarks(path);
  expect(reads.mock.calls.length).toBeLessThan(20);
  reads.mockRestore();
});
