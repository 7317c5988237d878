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
    const line = ["run", recipe, "--budget", "9", "--id", "poor", "--quote", "quote_00", "--detach"];
    const poor = await cli(line, { cwd, env: service.env });
    expect(poor.code).toBe(2);
    expect(poor.stderr).toMatch(/quote_00[\s\S]*did not start/);
    expect(poor.stderr.match(/^picture /gm), poor.stderr).toHaveLength(1);
    for (const said of poor.stderr.split("\n")) expect(said.split("--id poor").length - 1).toBeLessThanOrEqual(1);
    const nobody = await cli(["run", recipe, "--detach"], { cwd, env: service.env });
    expect(nobody.code).toBe(2);
    expect(nobody.stderr).toContain("--budget");
  });

  test("a budget that is too small is refused once, with the price, before a process is started", async () => {
    const cwd = emptyFolder();
    const line = ["run", recipe, "--id", "poor", "--budget", "0.01", "--detach"];
    const poor = await cli(line, { cwd, env: service.env });
    expect(poor.code).toBe(2);
    expect(poor.stderr.match(/^picture /gm), poor.stderr).toHaveLength(1);
    expect(poor.stderr).toContain("the budget is 0.01 USD");
    expect(existsSync(join(cwd, ".showrunner/logs/poor.log"))).toBe(false);
  });

  test("an id that exists: a finished run is reported, or refused with --on-existing fail", async () => {
    const cwd = emptyFolder();
    const again = (...more: readonly string[]) =>
      cli(["run", recipe, "--budget", "2", "--id", "twice", "--detach", ...more], { cwd, env: service.env });
    const first = await again();
    expect(first.code, first.stderr).toBe(0);
    await cli(["events", "twice", "--follow"], { cwd, env: service.env });
    const second = await again();
    expect(second.code, second.stderr).toBe(0);
    expect(second.stderr).toContain("Run twice already exists (succeeded): nothing was started.");
    expect(second.stdout).toContain("video.mp4");
    const other = await again("-i", "scene=another");
    expect(other.code).toBe(2);
    expect(other.stderr).toContain("input.scene");
    const refused = await again("--on-existing", "fail");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("Next: showrunner resume twice");
  });

  test("an id that exists: a running run is left alone, and a killed one continues and pays once", async () => {
    await using slow = await startService(["--speed", "1", "--stub"]);
    const options = { cwd: emptyFolder(), env: slow.env };
    const line = ["run", recipe, "--budget", "9", "--id", "film", "--detach"];
    const begun = await cli([...line, "--json"], options);
    expect(begun.code, begun.stderr).toBe(0);
    const running = await cli(line, options);
    expect(running.code, running.stderr).toBe(0);
    expect(running.stderr).toMatch(/Run film already exists \((planned|running)\): another process is executing it/);
    expect(running.stderr).toContain("Next: showrunner events film --follow");
    const pictures = async () => (await slow.stats()).jobs_by_model["image-1"];
    const shown = async () => (await cli(["show", "film"], options)).stdout;
    const patience = { timeout: 20_000 };
    await expect.poll(pictures, patience).toBe(1);
    process.kill((JSON.parse(begun.stdout) as { readonly pid: number }).pid, "SIGKILL");
    await expect.poll(shown, patience).toContain("interrupted");
    const other = await cli([...line, "-i", "scene=another"], options);
    expect(other.code).toBe(2);
    const again = await cli([...line, "--json"], options);
    expect(again.code, again.stderr).toBe(0);
    const { pid } = JSON.parse(again.stdout) as { readonly pid: number };
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, "SIGKILL");
    await expect.poll(shown, patience).toContain("interrupted");
    expect(await pictures()).toBe(1);
  });

  test("an id that exists: a paused run continues in a process of its own", async () => {
    const options = { cwd: emptyFolder(), env: service.env };
    const asking = cards
      .replace("job }", "job, approve }")
      .replace(/\(\{ card: (.*) \}\),/, '({ card: approve("fine", $1) }),');
    writeFileSync(join(options.cwd, "cards.ts"), asking);
    const line = ["run", "cards.ts", "--id", "card", "--budget", "1", "-i", "slogan=Good"];
    expect((await cli(line, options)).code).toBe(3);
    expect((await cli(["approve", "card", "fine"], options)).code).toBe(0);
    const again = await cli([...line, "--detach"], options);
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toContain("Run card continues in process");
    const status = async () => (await cli(["show", "card"], options)).stdout;
    await expect.poll(status, { timeout: 20_000 }).toContain("succeeded");
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
