import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";
import { cli, root, startCli } from "./support/cli.ts";

const recipe = join(root, "recipes/image-to-video.ts");
let service: LocalService;
let folder: string;

beforeAll(async () => {
  folder = await fastFolder("interrupt-");
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 25, dataDir: join(folder, "service") });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

/** Resolves once the process has said it. */
function said(child: ReturnType<typeof startCli>["child"], what: RegExp): Promise<void> {
  return new Promise((seen) => {
    let text = "";
    child.stderr?.on("data", (chunk: string) => {
      text += chunk;
      if (what.test(text)) seen();
    });
  });
}

/** Resolves once the run has written down that it submits. */
async function submitIntended(path: string): Promise<void> {
  const journal = await openSqliteJournal(path);
  for (let afterSeq = 0; ; ) {
    const events = await journal.read("t", { afterSeq });
    if (events.some(({ event }) => event.type === "job.submit.intended")) break;
    afterSeq = events.at(-1)?.seq ?? afterSeq;
    await journal.waitForChange("t", afterSeq);
  }
  await journal.close();
}

test("Ctrl-C once waits for the submit on its way; twice leaves at once, and resume pays nothing twice", async () => {
  // A submit that the service answers only after longer than the test takes.
  service.faults([{ kind: "delay", route: "POST /models/{model}", delay_ms: 600_000 }]);
  const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
  const { child, end } = startCli(["run", recipe, "--id", "t", "--budget", "9"], { cwd: folder, env });
  await said(child, /Run t/);
  await submitIntended(join(folder, ".showrunner/journal.db"));
  child.kill("SIGINT");
  await said(child, /Stopping as soon as the service has answered all pending submissions/);
  expect(child.exitCode).toBeNull();
  child.kill("SIGINT");
  expect((await end).code).toBe(130);
  expect(service.stats().jobs_created).toBe(0);
  service.faults([]);
  const { code, stderr } = await cli(["resume", "t"], { cwd: folder, env });
  expect(code, stderr).toBe(0);
  expect(service.stats().jobs_created).toBe(2);
}, 180_000);

test("Ctrl-C twice ends a process whose pipeline never gives its thread back", async () => {
  const file = join(folder, "spinning.ts");
  await writeFile(
    file,
    `import { writeSync } from "node:fs";
import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("spinning", {
  input: z.object({}),
  build: ({ task }) => ({
    never: task("never", {}, () => {
      writeSync(2, "it spins");
      for (;;);
    }),
  }),
});
`,
  );
  const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
  const { child, end } = startCli(["run", file, "--id", "spin", "--budget", "9"], { cwd: folder, env });
  await said(child, /it spins/);
  // Signals that come faster than they are taken are one: it is pressed until the process has ended.
  const press = setInterval(() => child.kill("SIGINT"), 100);
  await end;
  clearInterval(press);
  expect([child.exitCode, child.signalCode]).not.toEqual([null, null]);
  const { code, stdout } = await cli(["show", "spin", "--json"], { cwd: folder, env });
  expect([code, JSON.parse(stdout).status]).toEqual([0, "interrupted"]);
}, 180_000);
