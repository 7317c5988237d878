import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { checkFiles } from "../../../src/studio/mcp/session.ts";
import { fastFolder } from "../../../src/testing/surroundings.ts";

test("an input that is nested without end is refused, and says why", async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}"x"${"}".repeat(5_000)}`);
  await expect(checkFiles(deep, tmpdir())).rejects.toMatchObject({ message: "The input is nested too deeply" });
});

test("the disk is not asked for texts without number", async () => {
  const input = { many: Array.from({ length: 20_001 }, () => "") };
  await expect(checkFiles(input, tmpdir())).rejects.toMatchObject({
    message: "The input contains more than 20000 strings",
  });
});

test("whether there is a file outside of the folder is not said", async () => {
  const above = await fastFolder("check-files-");
  const folder = join(above, "files");
  mkdirSync(folder);
  for (const path of [join(above, "there.png"), join(folder, "own.png")]) writeFileSync(path, "x");
  const answer = (name: string) => checkFiles({ name }, folder).then(() => "fine", String);
  const linked = join(above, "link");
  symlinkSync(folder, linked);
  const answers = (write: (name: string) => string) =>
    Promise.all(["there.png", "none.png"].map(async (name) => (await answer(write(name))).replace(write(name), "it")));
  for (const write of [
    (name: string) => join(above, name),
    (name: string) => `${folder}/../${name}`,
    (name: string) => relative(process.cwd(), join(above, name)),
    (name: string) => `a b/../${relative(process.cwd(), join(above, name))}`,
    (name: string) => `//${join(above, name)}`,
  ]) {
    const [one, other] = await answers(write);
    expect(one).toContain("the only folder that input files can come from");
    expect(other).toBe(one);
  }
  const inside = ["own.png", "none.png", "a/../own.png"].map((name) => `${folder}/${name}`);
  for (const fine of [...inside, "a/b", "16/9", "so ... on"]) expect(await answer(fine), fine).toBe("fine");
  symlinkSync(process.cwd(), join(folder, "elsewhere"));
  expect(await answer(`${folder}/elsewhere/../${process.cwd().split("/").at(-1)}`)).toContain("is outside");
  expect(await checkFiles({ name: join(folder, "own.png") }, linked)).toBe(undefined);
});
