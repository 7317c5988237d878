import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDataDir } from "../../src/local-service/data-dir.ts";
import { openStore } from "../../src/local-service/store/store.ts";
import { newFolder } from "../support/temporary-folder.ts";

const UUID = "0b9c4c1e-7d7a-4b52-9f0e-2f6c1d3e4a5b";

test("a folder of somebody's loses nothing that the service did not write, whatever it is called", async () => {
  const root = newFolder();
  const theirs = ["photo.png", "file_photo.png", "asset_1", `${UUID}.png`, `file_${UUID}.png`, `my file_${UUID}`];
  mkdirSync(join(root, "incoming", `file_${UUID}`), { recursive: true });
  mkdirSync(join(root, "incoming", "nested"));
  for (const name of [...theirs, "nested/photo.png"]) writeFileSync(join(root, "incoming", name), "theirs");
  const before = readdirSync(join(root, "incoming"), { recursive: true });
  openDataDir(root);
  expect(readdirSync(join(root, "incoming"), { recursive: true })).toEqual(before);
});

test("partial files of a killed process are removed, and what a link leads to is not", async () => {
  const [root, elsewhere] = [newFolder(), newFolder()];
  const { incoming } = openDataDir(root);
  const names = ["file", "asset"].map((kind) => `${kind}_${UUID}`).concat(`render-${UUID}`);
  for (const name of names.flatMap((one) => [one, `${one}.${UUID}.part`])) writeFileSync(incoming(name), "half");
  writeFileSync(join(elsewhere, "kept"), "theirs");
  symlinkSync(join(elsewhere, "kept"), incoming(`file_${UUID.replace("0", "1")}`));
  openDataDir(root);
  expect(readdirSync(join(root, "incoming"))).toEqual([`file_${UUID.replace("0", "1")}`]);
  expect(readdirSync(elsewhere)).toEqual(["kept"]);
});

test("work that comes once the store is closed is refused to its caller, and ends no process", async () => {
  const store = openStore(newFolder());
  store.close();
  const late = [1, 2].map((value) => store.write(() => value));
  for (const refused of await Promise.allSettled(late)) {
    expect(refused).toMatchObject({ status: "rejected", reason: { message: "database is not open" } });
  }
});
