import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, emptyFolder, root } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const recipe = join(root, "recipes/image-to-video.ts");
const cards = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("cards", {
  input: z.object({ slogan: z.string() }),
  build: ({ input, job }) => ({ card: job("card", "image-1", { prompt: input.slogan }) }),
});
`;
let service: Service;
beforeAll(async () => {
  service = await startService(["--stub"]);
});
afterAll(() => service.stop());

describe("run --detach", () => {
  test("continues in a process of its own, writes a log, and shows how to follow it", async () => {
    const cwd = emptyFolder();
    const options = { cwd, env: service.env };
    const begun = await cli(
      ["run", recipe, "--budget", "2", "--id", "film", "--detach", "-i", "scene=a 'quay' $HOME"],
      options,
    );
    expect(begun.code, begun.stderr).toBe(0);
    expect(begun.stdout).toBe("film\n");
    expect(begun.stderr).toContain("Next: showrunner events film --follow");
    const followed = await cli(["events", "film", "--follow"], options);
    expect(followed.stdout).toContain("run succeeded");
    expect(existsSync(join(cwd, "out/film/video.mp4"))).toBe(true);
    expect(readFileSync(join(cwd, ".showrunner/logs/film.log"), "utf8")).toContain("picture: succeeded");
    expect((await cli(["events", "film", "--json"], options)).stdout).toContain("a 'quay' $HOME");
  });

  test("prints one document with --json, and makes up an id", async () => {
    const cwd = emptyFolder();
    const { code, stdout } = await cli(["run", recipe, "--budget", "2", "--detach", "--json"], {
      cwd,
      env: service.env,
    });
    expect(code).toBe(0);
    const { id, pid, log } = JSON.parse(stdout) as { readonly id: string; readonly pid: number; readonly log: string };
    expect(id).toMatch(/^image-to-video-[0-9a-f]{8}$/);
    expect(pid).toBeGreaterThan(0);
    expect(log).toBe(join(cwd, ".showrunner/logs", `${id}.log`));
    await cli(["events", id, "--follow"], { cwd, env: service.env });
  });

  test("a run that cannot start reports why, and no process is left running", async () => {
    const cwd = emptyFolder();
    const poor = await cli(["run", recipe, "--budget", "0.01", "--id", "poor", "--detach"], { cwd, env: service.env });
    expect(poor.code).toBe(2);
    expect(poor.stderr).toMatch(/budget[\s\S]*did not start/);
    const nobody = await cli(["run", recipe, "--detach"], { cwd, env: service.env });
    expect(nobody.code).toBe(2);
    expect(nobody.stderr).toContain("--budget");
  });

  test("an id that exists is refused before a process is started", async () => {
    const cwd = emptyFolder();
    const again = () => cli(["run", recipe, "--budget", "2", "--id", "twice", "--detach"], { cwd, env: service.env });
    const first = await again();
    expect(first.code, first.stderr).toBe(0);
    await cli(["events", "twice", "--follow"], { cwd, env: service.env });
    const second = await again();
    expect(second.code).toBe(2);
    expect(second.stderr).toContain("Next: showrunner resume twice");
  });

  test("of a row each, or left to an engine, starts every row once", async () => {
    const options = { cwd: emptyFolder(), env: service.env };
    writeFileSync(join(options.cwd, "cards.ts"), cards);
    writeFileSync(join(options.cwd, "rows.csv"), "slogan\nGood\nBetter\n");
    const each = (...more: readonly string[]) =>
      cli(["run", "cards.ts", "--each", "rows.csv", "--budget", "1", ...more], options);
    const { jobs_created: before } = await service.stats();
    const left = await each("--detach");
    expect(left.code, left.stderr).toBe(0);
    const runs = async () =>
      JSON.parse((await cli(["runs", "--json"], options)).stdout) as readonly { status: string }[];
    await expect.poll(runs).toMatchObject([{ status: "succeeded" }, { status: "succeeded" }]);
    expect((await service.stats()).jobs_created - before).toBe(2);

    const handed = await each("--id", "again", "--detach", "--engine", "timers");
    expect(handed.code, handed.stderr).toBe(0);
    expect(handed.stdout.match(/^again-\w+\thanded/gm)).toHaveLength(2);
  });
});
