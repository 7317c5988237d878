import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cli, emptyFolder, startCli } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

vi.setConfig({ testTimeout: 240_000 });

let service: Service;
const cwd = emptyFolder();
const file = join(cwd, "gate.ts");
const cliHere = (...args: readonly string[]) => cli(args, { cwd, env: service.env });

beforeAll(async () => {
  service = await startService(["--stub"]);
  writeFileSync(
    file,
    `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("gate", {
  input: z.object({}),
  build({ job, approve, task }) {
    const picture = job("picture", "image-1", { prompt: "a quay" });
    const fine = approve("fine", picture);
    const note = task("note", { picture: fine }, ({ picture }) => ({ type: picture.contentType }));
    return { note, again: job("again", "image-1", { prompt: "a quay at night", images: [fine] }) };
  },
});
`,
  );
});
afterAll(() => service.stop());

test("a worker takes a decision up as it comes, with the run's own functions, and ends in good order", async () => {
  const begun = await cliHere("run", file, "--budget", "5", "--id", "a");
  expect(begun.code, begun.stderr).toBe(3);
  const worker = startCli(["worker"], { cwd, env: service.env });
  const finished = new Promise<void>((resolve) => {
    worker.child.stdout?.on("data", (text: string) => text.includes("succeeded") && resolve());
  });
  expect((await cliHere("approve", "a", "fine")).code).toBe(0);
  await finished;
  worker.child.kill("SIGINT");
  const { code, stdout, stderr } = await worker.end;
  expect(code).toBe(130);
  expect(stdout).toMatch(/^a\tsucceeded\t\$0\.05$/m);
  expect(stderr).toContain("a  fine: approved");
  expect(stderr).toContain("a  note: succeeded");
  expect(existsSync(join(cwd, "out/a/again.png"))).toBe(true);
});

test("a run whose process was killed is driven, and one that waits for a person is not", async () => {
  const waiting = await cliHere("run", file, "--budget", "5", "--id", "b");
  expect(waiting.code).toBe(3);
  const killed = startCli(["run", file, "--budget", "5", "--id", "c"], { cwd, env: service.env });
  await new Promise<void>((resolve) => {
    killed.child.stderr?.on("data", (text: string) => text.includes("picture: job") && resolve());
  });
  killed.child.kill("SIGKILL");
  await killed.end;
  const { code, stdout, stderr } = await cliHere("worker", "--once", "--json");
  expect(code, stderr).toBe(0);
  const ended = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly id: string });
  expect(ended).toMatchObject([{ id: "c", status: "paused", pause: { reason: "approval" } }]);
});

test("--once exits as unfinished and reports why when a run could not be driven", async () => {
  const folder = emptyFolder();
  const here = (...args: readonly string[]) => cli(args, { cwd: folder, env: service.env });
  const own = join(folder, "own.ts");
  writeFileSync(own, readFileSync(file, "utf8"));
  expect((await here("run", own, "--budget", "5", "--id", "u")).code).toBe(3);
  writeFileSync(own, "export default ( => broken\n");
  expect((await here("approve", "u", "fine")).code).toBe(0);
  const { code, stderr } = await here("worker", "--once");
  expect(code, stderr).toBe(3);
  expect(stderr).toMatch(/^u: .*own\.ts/m);
});

test("with nothing to do, --once leaves at once", async () => {
  const { code, stdout } = await cliHere("worker", "--once", "--journal", join(emptyFolder(), "journal.db"));
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
});

test("a worker drives a run again once its broken pipeline file is mended, also where a file that it imports was broken [G44]", async () => {
  const helper = join(cwd, "helper.ts");
  const mended = join(cwd, "mended.ts");
  writeFileSync(helper, "export const note = () => ({ fine: true });\n");
  writeFileSync(
    mended,
    `import { pipeline } from "showrunner";
import { z } from "zod";
import { note } from "./helper.ts";

export default pipeline("mended", {
  input: z.object({}),
  build({ job, approve, task }) {
    const picture = job("picture", "image-1", { prompt: "a pier" });
    const fine = approve("fine", picture);
    return { note: task("note", { picture: fine }, note) };
  },
});
`,
  );
  expect((await cliHere("run", mended, "--budget", "5", "--id", "m")).code).toBe(3);
  writeFileSync(helper, "export const note = ( => broken\n");
  expect((await cliHere("approve", "m", "fine")).code).toBe(0);
  const worker = startCli(["worker"], { cwd, env: service.env });
  const [refused, succeeded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  worker.child.stderr?.on("data", (text: string) => text.includes("will try again") && refused.resolve());
  worker.child.stdout?.on("data", (text: string) => text.includes("m\tsucceeded") && succeeded.resolve());
  await refused.promise;
  writeFileSync(helper, "export const note = () => ({ fine: true });\n");
  await succeeded.promise;
  worker.child.kill("SIGINT");
  expect((await worker.end).code).toBe(130);
});
