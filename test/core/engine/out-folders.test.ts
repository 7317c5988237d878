import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { thisHolder } from "../../../src/core/journal/host.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { createMemoryJournal, pipeline } from "../../../src/index.ts";
import { lacksLinux, testNeeding } from "../../support/absence.ts";
import { during, models, openFakeShow } from "../../support/engine.ts";
import { noSmallDisk, smallDisk } from "../../support/small-disk.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const one = pipeline("one", {
  input: z.object({ look: z.string() }),
  build: ({ input, job }) => ({ face: job("face", models.image, { prompt: input.look }) }),
});

async function made() {
  const life = await openFakeShow();
  const run = async (id: string, look: string) => life.run(one, { look }, { id, outDir: life.outDir });
  return { ...life, run };
}

test("Two runs with one folder keep their files and manifests apart, and say where they are", async () => {
  const { run, outDir, show } = await made();
  await run("a", "grey");
  const first = readFileSync(join(outDir, "face.png"));
  const second = await run("b", "blue");
  expect(readFileSync(join(outDir, "face.png"))).toEqual(first);
  expect(second.report.steps[0]!.outputs[0]).toMatchObject({ file: "b/face.png", manifest: "b/face.png.json" });
  expect(readFileSync(join(outDir, "b/face.png"))).not.toEqual(first);
  expect(JSON.parse(readFileSync(join(outDir, "face.png.json"), "utf8")).run).toBe("a");
  expect(JSON.parse(readFileSync(join(outDir, "b/face.png.json"), "utf8")).run).toBe("b");
  const events = [];
  for await (const { event } of show.events("b")) if (event.type === "file.placed") events.push(event.file);
  expect(events).toEqual(["b/face.png"]);
});

test("Without manifests, files of another run, or of somebody else, are not written over, and a rerun's own are", async () => {
  const { show, clock, outDir } = await openFakeShow();
  const take = async (id: string, look: string, rerun = false) => {
    const begun = rerun
      ? show.resume(id, { rerun: ["face"] })
      : show.run(one, { look }, { id, outDir, manifests: false });
    return during(clock, (await begun).result());
  };
  const bytes = (file: string) => readFileSync(join(outDir, file));
  await take("a", "grey");
  const first = bytes("face.png");
  const second = await take("b", "blue");
  expect(second.report.steps[0]!.outputs[0]!.file).toBe("b/face.png");
  expect(bytes("face.png")).toEqual(first);
  expect(bytes("b/face.png")).not.toEqual(first);
  const again = await take("a", "grey", true);
  expect(again.report.steps[0]!.outputs[0]!.file).toBe("face.png");
  expect(existsSync(join(outDir, "a"))).toBe(false);
  writeFileSync(join(outDir, "face.png"), "retouched by hand");
  expect((await take("a", "grey", true)).report.steps[0]!.outputs[0]!.file).toBe("a/face.png");
});

test("Files that were removed after the end come back with a resume, at no cost", async () => {
  const { run, outDir, paidService, resume } = await made();
  await run("a", "grey");
  const there = () => Object.fromEntries(readdirSync(outDir).map((name) => [name, readFileSync(join(outDir, name))]));
  const before = there();
  expect(Object.keys(before).sort()).toEqual(["face.png", "face.png.json"]);
  await rm(outDir, { recursive: true });
  const again = await resume({ id: "a" });
  expect([again.status, there()]).toEqual(["succeeded", before]);
  expect(paidService.submits).toBe(1);
});

test("A project that was moved takes its out folder along: the old one is not made again", async () => {
  const base = newFolder();
  const [old, now] = [join(base, "old"), join(base, "now")];
  const at = (folder: string) => openSqliteJournal(join(folder, ".showrunner/journal.db"));
  const [first, second] = [join(old, "out/a"), join(now, "out/a")];
  const before = await openFakeShow({ journal: await at(old) });
  const ended = before.show.run(one, { look: "grey" }, { id: "a", outDir: first }).then((run) => run.result());
  await during(before.clock, ended);
  await before.journal.close();
  const resume = async () => {
    const journal = await at(now);
    const { show, resume } = await openFakeShow({ ...before, journal });
    const result = await resume({ id: "a" });
    await show.gc();
    await journal.close();
    return result.report.out_dir;
  };
  await cp(old, now, { recursive: true });
  expect(await resume()).toBe(first);
  await rm(old, { recursive: true });
  await rm(second, { recursive: true });
  expect(await resume()).toBe(second);
  expect([existsSync(join(second, "face.png")), existsSync(old)]).toEqual([true, false]);
});

test("A lease of another host whose clock is a day ahead keeps nobody from going on", async () => {
  const journal = createMemoryJournal();
  const { show, clock, outDir, resume } = await openFakeShow({ journal });
  await show.start(one, { look: "grey" }, { id: "a", outDir });
  const holder = { ...thisHolder("far"), host: "far" };
  const at = clock.now() + 24 * 3_600_000;
  const taken = await journal.takeLease("a", holder, { at, ttlMs: 30_000, isDead: () => true });
  expect(taken.acquired).toBe(true);
  const ended = await resume({ id: "a" });
  expect(ended.status).toBe("succeeded");
});

async function refusal(outDir: string): Promise<string> {
  const { show } = await openFakeShow();
  return show.run(one, { look: "grey" }, { outDir }).then(
    () => "none",
    (error: Error) => error.message,
  );
}

test("A folder that cannot be made is refused with the true reason", async () => {
  const folder = newFolder();
  const [link, file] = [join(folder, "link"), join(folder, "file")];
  symlinkSync(join(folder, "nowhere"), link);
  writeFileSync(file, "");
  expect(await refusal(link)).toContain(`${link} is a broken link`);
  expect(await refusal(join(link, "a", "b"))).toContain(`${link} is a broken link`);
  expect(await refusal(file)).toContain(`${file} is not a folder`);
  expect(await refusal(join(file, "a"))).toContain("is not a folder");
  mkdirSync(join(folder, "real"));
  symlinkSync(join(folder, "real"), join(folder, "good"));
  expect(await refusal(join(folder, "good", "a"))).toBe("none");
});

testNeeding(lacksLinux)("A folder that the system refuses without a reason is not called a broken link", async () => {
  expect(await refusal("/proc/showrunner/out")).toContain("the system refused /proc/showrunner (ENOENT)");
});

const disk = smallDisk("1m");
afterAll(() => disk?.unmount());

testNeeding(disk === null ? noSmallDisk : null)("A read-only disk is called that, at any depth", async () => {
  execFileSync("mount", ["-o", "remount,ro", disk!.path]);
  expect(await refusal(join(disk!.path, "out"))).toContain(`${join(disk!.path, "out")} is on a read-only disk`);
  expect(await refusal(join(disk!.path, "a", "b"))).toContain(`${join(disk!.path, "a")} is on a read-only disk`);
});
