import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { emptyFolder, root, startCli } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

vi.setConfig({ testTimeout: 240_000 });

const nodeFlags = ["--import", pathToFileURL(join(root, "test/cli/fixtures/full-disk.mjs")).href];
let service: Service;

beforeAll(async () => {
  service = await startService(["--stub"]);
});
afterAll(() => service.stop());

/** In a process of its own: its disk is full by a flag of Node. */
const run = (...given: Parameters<typeof startCli>) => startCli(...given).end;

/** A folder with a pipeline of one picture, on a disk that is full for media or journal until `free` is called. */
function folderOn(what: "media" | "journal") {
  const cwd = emptyFolder();
  const freed = join(cwd, "freed");
  const file = join(cwd, "picture.ts");
  writeFileSync(
    file,
    `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("picture", {
  input: z.object({}),
  build: ({ job }) => ({ a: job("a", "image-1", { prompt: "a quay" }) }),
});
`,
  );
  const env = { ...service.env, SHOWRUNNER_TEST_FULL: what, SHOWRUNNER_TEST_FREED: freed };
  const options = { cwd, env, nodeFlags };
  return { file, free: () => writeFileSync(freed, ""), options };
}

for (const what of ["media", "journal"] as const) {
  test(`a disk that is full for the ${what} in mid-run ends it as unfinished, advises to free space and resume, and never names another journal [G42]`, async () => {
    const { file, free, options } = folderOn(what);
    const before = (await service.stats()).jobs_created;
    const { code, stderr } = await run(["run", file, "--budget", "1", "--id", "x"], options);
    expect(code, stderr).toBe(3);
    expect(stderr).toMatch(/Next: (free up disk space, then: )?showrunner resume x/);
    expect(stderr).toMatch(/[Ff]ree (up|some) space/);
    expect(stderr).not.toMatch(/another journal|nothing was (submitted|spent)/i);
    const again = await run(["resume", "x"], options);
    expect(again.code, again.stderr).toBe(what === "media" ? 3 : 0);
    free();
    const done = await run(["resume", "x"], options);
    expect(done.code, done.stderr).toBe(0);
    expect((await service.stats()).jobs_created).toBe(before + 1);
  });
}

test("a worker retries a run that met a full disk, once there is space [G44]", async () => {
  const { file, free, options } = folderOn("media");
  expect((await run(["run", file, "--budget", "1", "--id", "w"], options)).code).toBe(3);
  const worker = startCli(["worker"], options);
  let said = "";
  const succeeded = new Promise<void>((resolve) => {
    worker.child.stdout?.on("data", (text: string) => text.includes("succeeded") && resolve());
  });
  const refused = new Promise<void>((resolve) => {
    worker.child.stderr?.on("data", (text: string) => {
      said += text;
      if (said.includes("will try again")) resolve();
    });
  });
  await refused;
  free();
  await succeeded;
  worker.child.kill("SIGINT");
  await worker.end;
});
