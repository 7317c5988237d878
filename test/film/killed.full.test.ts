import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join as at } from "node:path";
import { beforeAll, expect } from "vitest";
import { root, startCli } from "../cli/support/cli.ts";
import { lacksLinux, testNeeding } from "../support/absence.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { drawClip } from "./support/ffmpeg.ts";

const folder = newFolder();
const path = (name: string) => at(folder, name);
const inputs = [
  `first=${path("a.mp4")}`,
  `second=${path("b.mp4")}`,
  `music=${at(root, "recipes/assets/song.wav")}`,
].flatMap((one) => ["-i", one]);

beforeAll(async () => {
  await drawClip(path("a.mp4"), { seconds: 3, size: "640x360" });
  await drawClip(path("b.mp4"), { seconds: 2, size: "360x640", fps: 30 });
});

const code = at(root, "test/film/fixtures/two-cuts.ts");
const run = (cwd: string) =>
  startCli(["run", code, ...inputs, "--id", "cut", "--out", at(cwd, "out"), "--local"], { cwd });
const resume = (cwd: string) => startCli(["resume", "cut", "--file", code, "--local"], { cwd });

/** Ids of the processes of ffmpeg that work below a folder. */
function working(cwd: string): readonly string[] {
  return globSync("/proc/[0-9]*/cmdline").flatMap((file) => {
    try {
      const command = readFileSync(file, "utf8");
      return /ffmpeg\0/.test(command) && command.includes(cwd) ? [file.split("/")[2]!] : [];
    } catch {
      return [];
    }
  });
}

testNeeding(lacksLinux)(
  "a run that is killed while ffmpeg works leaves no process and no half file, and goes on to the same bytes",
  async () => {
    const whole = mkdtempSync(path("whole-"));
    const finished = await run(whole).end;
    expect(finished.code, finished.stderr).toBe(0);

    const killed = mkdtempSync(path("killed-"));
    let { child, end } = run(killed);
    for (const kill of [1, 2]) {
      await expect.poll(() => working(killed).length, { interval: 5 }).toBeGreaterThan(0);
      // Each kill comes a little later in the work.
      for (let turn = 0; turn < kill * 20; turn += 1) working(killed);
      child.kill("SIGKILL");
      expect((await end).code).toBeNull();
      await expect.poll(() => working(killed)).toEqual([]);
      const out = at(killed, "out");
      expect(existsSync(out) ? readdirSync(out) : []).toEqual([]);
      ({ child, end } = resume(killed));
    }
    const last = await end;
    expect(last.code, last.stderr).toBe(0);
    const film = (cwd: string) => readFileSync(at(cwd, "out", "film.mp4"));
    expect(film(killed).equals(film(whole))).toBe(true);
    expect(readdirSync(at(killed, ".showrunner/media/tmp"))).toEqual([]);
  },
  300_000,
);
