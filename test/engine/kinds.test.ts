import { readFile, stat, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { placeholder } from "../../src/engine/placeholders.ts";
import { pipeline } from "../../src/index.ts";
import { during, openPaperShow } from "../support/paper-show.ts";

const nothing = z.object({});
const picture = placeholder("image", { durationMs: 0 })!;

test("a task reads what jobs made, writes declared files, and a job takes those", async () => {
  const seen: unknown[] = [];
  const show = pipeline("joins", {
    input: nothing,
    build({ job, task }) {
      const faces = job("faces", models.image, { prompt: "two faces", num_outputs: 2 });
      const joined = task(
        "join",
        { faces: faces.outputs(), note: "side by side" },
        async (input, { file, folder, progress }) => {
          seen.push(input, await stat(folder));
          progress(0.5);
          await writeFile(file("sheet"), picture);
          return { count: input.faces.length };
        },
        { files: { sheet: "image" } },
      );
      return {
        sheet: joined,
        big: job("big", models.image, { prompt: "bigger", images: [joined] }),
        facts: joined.value,
      };
    },
  });
  const world = await openPaperShow();
  const result = await during(
    world.clock,
    (await world.show.run(show, {}, { id: "x", outDir: world.outDir })).result(),
  );
  expect(result.report.steps.map(({ reason }) => reason)).toEqual([null, null, null]);
  expect(result).toMatchObject({ status: "succeeded", outputs: { facts: { count: 2 } } });
  expect(result.outputs.sheet).toMatchObject({ width: 512, height: 512, contentType: "image/png" });
  expect(await readFile(result.outputs.sheet.path)).toEqual(Buffer.from(picture));
  expect(seen[0]).toMatchObject({ note: "side by side", faces: [{ contentType: "image/png", sizeBytes: 64 }, {}] });
  expect([...world.paper.uploads.values()]).toContain(Buffer.from(picture).toString("hex"));
});
