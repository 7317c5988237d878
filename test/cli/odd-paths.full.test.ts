import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fakeIo } from "./support/fake-io.ts";

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), "odd-paths-"));
const pipeline = join(folder, "picture.ts");
const v2 = join(folder, "v2.json");
const soundJournal = join(folder, "sound/journal.db");
let service: LocalService;

/** Each makes a path that is not what it is given for, fresh for every command. */
const odd: Readonly<Record<string, (at: string) => string>> = {
  "a file": (at) => {
    writeFileSync(at, "plain text\n");
    return at;
  },
  "a folder": (at) => {
    mkdirSync(at);
    return at;
  },
  "below a file": (at) => {
    writeFileSync(at, "plain text\n");
    return join(at, "below");
  },
  "a dangling link": (at) => {
    symlinkSync(join(folder, "no", "where"), at);
    return at;
  },
  "a link to itself": (at) => {
    symlinkSync(at, at);
    return at;
  },
  "too long a name": (at) => join(at, "x".repeat(300)),
  "a place without write access": () => "/sys/showrunner",
  // Behind a link of ours: a command that puts a file in the place of what it is given must not reach the device.
  "a device that is full": (at) => {
    symlinkSync("/dev/full", at);
    return at;
  },
};

/** Commands by the path that they are given. */
const commands: Readonly<Record<string, (path: string) => readonly string[]>> = {
  "run --out": (path) => ["run", pipeline, "--budget", "1", "--journal", soundJournal, "--out", path],
  "run --journal": (path) => ["run", pipeline, "--budget", "1", "--journal", path, "--out", join(folder, "out")],
  "run with a media store": (path) => {
    const beside = mkdtempSync(join(folder, "beside-"));
    symlinkSync(path, join(beside, "media"));
    return ["run", pipeline, "--budget", "1", "--journal", join(beside, "journal.db"), "--out", join(beside, "out")];
  },
  "run FILE": (path) => ["run", path, "--journal", soundJournal],
  "run --input": (path) => ["run", pipeline, "--budget", "1", "--journal", soundJournal, "--input", `@${path}`],
  "run --each": (path) => {
    const rows = join(mkdtempSync(join(folder, "beside-")), "rows.csv");
    symlinkSync(path, rows);
    return ["run", pipeline, "--budget", "1", "--journal", soundJournal, "--each", rows];
  },
  "approve --value": (path) => ["approve", "r", "a", "--journal", soundJournal, "--value", `@${path}`],
  "run with media to upload": (path) => [
    "run",
    join(folder, "similarity.ts"),
    "--journal",
    soundJournal,
    "-i",
    `face=${path}`,
  ],
  "plan --journal": (path) => ["plan", pipeline, "--journal", path],
  "plan --svg": (path) => ["plan", pipeline, "--journal", soundJournal, "--svg", path],
  "plan --against": (path) => ["plan", pipeline, "--journal", soundJournal, "--against", path],
  "runs --journal": (path) => ["runs", "--journal", path],
  "show --journal": (path) => ["show", "r", "--journal", path],
  "events --journal": (path) => ["events", "r", "--journal", path],
  "resume --journal": (path) => ["resume", "r", "--journal", path],
  "resume --file": (path) => ["resume", "r", "--journal", soundJournal, "--file", path],
  "stop --journal": (path) => ["stop", "r", "--journal", path],
  "approve --journal": (path) => ["approve", "r", "--journal", path],
  "adopt --journal": (path) => ["adopt", "r", "a", "--journal", path],
  "reconcile --journal": (path) => ["reconcile", "--journal", path],
  "gc --journal": (path) => ["gc", "--journal", path],
  "worker --journal": (path) => ["worker", "--once", "--journal", path],
  "doctor --journal": (path) => ["doctor", "--journal", path],
  "report --journal": (path) => ["report", "r", "--journal", path],
  "report --out": (path) => ["report", "r", "--journal", soundJournal, "--out", path],
  "dashboard --journal": (path) => ["dashboard", "--port", "0", "--journal", path],
  init: (path) => ["init", path],
  "models pull --out": (path) => ["models", "pull", "--out", path],
  "models diff --snapshot": (path) => ["models", "diff", "--snapshot", path],
  "models diff --with": (path) => ["models", "diff", "--snapshot", join(folder, "catalog.json"), "--with", path],
  "files upload": (path) => ["files", "upload", path],
  "migrate FILE": (path) => ["migrate", path, "--out", join(folder, "migrated")],
  "migrate --out": (path) => ["migrate", v2, "--out", path],
  "migrate --catalog": (path) => ["migrate", v2, "--out", join(folder, "migrated"), "--catalog", path],
  "migrate --decisions": (path) => ["migrate", v2, "--out", join(folder, "migrated"), "--decisions", path],
  "serve --data": (path) => ["serve", "--port", "0", "--data", path],
  "serve --catalog": (path) => ["serve", "--port", "0", "--data", join(folder, "data"), "--catalog", path],
  "serve --key-file": (path) => ["serve", "--port", "0", "--data", join(folder, "data"), "--key-file", path],
  "serve --faults": (path) => ["serve", "--port", "0", "--data", join(folder, "data"), "--faults", path],
};

beforeAll(async () => {
  service = await startLocalService({ renderer: "stub" });
  process.env.SHOWRUNNER_BASE_URL = service.baseUrl;
  process.env.SHOWRUNNER_API_KEY = service.apiKey;
  writeFileSync(
    pipeline,
    `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("picture", { input: z.object({}), build: ({ job }) => ({ a: job("a", "image-1", { prompt: "a quay" }) }) });
`,
  );
  writeFileSync(
    join(folder, "similarity.ts"),
    `import { file, pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("similarity", {
  input: z.object({ face: file("image") }),
  build: ({ input, job, upload }) => ({ a: job("a", "image-1", { prompt: "a face", images: [upload("face", input.face)] }) }),
});
`,
  );
  writeFileSync(v2, JSON.stringify({ endpoint: "image-generate", body: { prompt: "a quay" } }));
  const made = fakeIo({ env: process.env, cwd: folder });
  const begun = await runCli(["run", pipeline, "--budget", "1", "--id", "r", "--journal", soundJournal], made.io);
  expect(begun, made.stderr()).toBe(0);
  const pulled = fakeIo({ env: process.env, cwd: folder });
  expect(await runCli(["models", "pull", "--out", folder], pulled.io), pulled.stderr()).toBe(0);
});
afterAll(() => service.close());

let made = 0;

for (const [command, line] of Object.entries(commands)) {
  test(`${command}: a path of the wrong kind is named, with what to do, and nothing is paid [G42]`, async () => {
    for (const [kind, make] of Object.entries(odd)) {
      const path = make(join(folder, `odd-${made++}`));
      const { jobs_created } = service.stats();
      const { io, stderr, stdout, interrupt } = fakeIo({ env: process.env, cwd: folder });
      // A command that serves until it is stopped found nothing odd.
      const stop = setTimeout(interrupt, 1_500);
      const code = await runCli(line(path), io).finally(() => clearTimeout(stop));
      const said = `${command} with ${kind}: exit ${code}\n${stdout()}${stderr()}`;
      expect(said).not.toContain("unexpected");
      if (code === 0 || code === 130) continue;
      expect(said).toMatch(/Next: |→ /);
      expect(service.stats().jobs_created, said).toBe(jobs_created);
    }
  });
}
