import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { markFile, readMarks } from "../../../src/core/marks/index.ts";
import { manifestSchema } from "../../../src/index.ts";
import { type FakeShow, greyPng, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const TRAINED = "trainedAlgorithmicMedia";
const COMPOSITE = "compositeWithTrainedAlgorithmicMedia";
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const pictures = pipelineOf("pictures", ({ job, task, upload, takes }) => {
  const still = job("still", models.image, { prompt: "a boat" });
  const chosen = takes("looks", models.image, { prompt: "a boat" }, { count: 2, choose: "first" });
  const path = `${import.meta.dirname}/../../../docs/pictures/dashboard-run.webp`;
  const photo = upload("photo", { path, kind: "image" });
  const closer = job("closer", models.image, { prompt: "closer", images: [photo] });
  const write = (_: unknown, { file }: { file(name: string): string }) => writeFileSync(file("p"), greyPng(8));
  const drawn = task("drawn", {}, write, { files: { p: "image" } });
  const joined = task("joined", { still }, write, { files: { p: "image" } });
  return { still, chosen, closer, drawn, joined };
});

async function openPictures(): Promise<FakeShow> {
  const world = await openFakeShow();
  world.paidService.picture = (bytes) => greyPng(8, bytes.charCodeAt(0));
  return world;
}

const manifestOf = (outDir: string, name: string) =>
  manifestSchema.parse(JSON.parse(readFileSync(join(outDir, `${name}.json`), "utf8")));

const expected = { still: TRAINED, chosen: TRAINED, closer: COMPOSITE, drawn: null, joined: COMPOSITE };

test("named files say how they came about; manifests have what they became, and what they were", async () => {
  const world = await openPictures();
  expect((await world.run(pictures, {}, { marks: true })).status).toBe("succeeded");
  for (const [name, type] of Object.entries(expected)) {
    const path = join(world.outDir, `${name}.png`);
    const { digitalSourceType } = await readMarks(path);
    expect(digitalSourceType?.split("/").at(-1) ?? null, name).toBe(type);
    const { file, mark, digital_source_type, steps, made_by } = manifestOf(world.outDir, `${name}.png`);
    expect(digital_source_type, name).toBe(type);
    const bytes = readFileSync(path);
    expect(file, name).toMatchObject({ sha256: sha256(bytes), size_bytes: bytes.length });
    const output_sha256 = steps.find((step) => step.path === made_by.step)?.outputs[made_by.output]?.sha256;
    expect(mark, name).toEqual(
      type === null ? undefined : { status: "marked", digital_source_type: type, output_sha256 },
    );
  }
});

test("without being asked, files are the service's byte for byte; only their manifests say how they came about", async () => {
  const world = await openPictures();
  await world.run(pictures, {}, { marks: false });
  const { file, steps, mark } = manifestOf(world.outDir, "still.png");
  const kept = sha256(readFileSync(join(world.outDir, "still.png")));
  expect([steps.at(-1)?.outputs[0]?.sha256, file.sha256, mark]).toEqual([kept, kept, undefined]);
  for (const [name, type] of Object.entries(expected))
    expect(manifestOf(world.outDir, `${name}.png`).digital_source_type, name).toBe(type);
});

test("a file that somebody removed is put back with its mark", async () => {
  const world = await openPictures();
  await world.run(pictures, {}, { marks: true });
  const path = join(world.outDir, "still.png");
  const before = readFileSync(path);
  rmSync(path);
  await world.resume();
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a mark that is in a file already is kept, and a file that can have none is left: the manifest says so", async () => {
  const made = pipelineOf("made", ({ job, task }) => {
    const still = job("still", models.image, { prompt: "a boat" });
    const marked = task(
      "marked",
      { still },
      async (_, { file }) => {
        writeFileSync(file("p"), greyPng(8));
        await markFile(file("p"), { digitalSourceType: TRAINED });
      },
      { files: { p: "image" } },
    );
    const signed = task("signed", { still }, (_, { file }) => writeFileSync(file("p"), signedPng()), {
      files: { p: "image" },
    });
    return { marked, signed };
  });
  const world = await openPictures();
  await world.run(made, {}, { marks: true });
  const kept = { status: "kept", digital_source_type: expect.stringContaining(`/${TRAINED}`) };
  const marked = manifestOf(world.outDir, "marked.png");
  expect([marked.mark, marked.digital_source_type]).toEqual([kept, COMPOSITE]);
  const left = { status: "left", reason: expect.stringContaining("C2PA") };
  expect(manifestOf(world.outDir, "signed.png").mark).toMatchObject(left);
  expect(readFileSync(join(world.outDir, "signed.png")).equals(signedPng())).toBe(true);
});

/** A chunk of C2PA behind the header; readers that do not know it pass over it. */
function signedPng(): Buffer {
  const png = Buffer.from(greyPng(8));
  const chunk = Buffer.from("\0\0\0\x04caBXjumb\0\0\0\0", "latin1");
  return Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)]);
}
