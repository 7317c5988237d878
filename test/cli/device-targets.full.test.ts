import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fakeIo } from "./support/fake-io.ts";

vi.setConfig({ testTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), "device-targets-"));
const pipeline = join(folder, "picture.ts");
const v2 = join(folder, "v2.json");
const journal = join(folder, "journal.db");
/** Root may replace the machine's own, and makes another one to be safe; nobody else can. */
const fullDevice = process.getuid?.() === 0 ? join(folder, "full") : "/dev/full";
let service: LocalService;
let reader: ChildProcess | null = null;

beforeAll(async () => {
  if (fullDevice !== "/dev/full") execFileSync("mknod", [fullDevice, "c", "1", "7"]);
  service = await startLocalService({ renderer: "stub" });
  writeFileSync(
    pipeline,
    `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("picture", { input: z.object({}), build: ({ job }) => ({ a: job("a", "image-1", { prompt: "a quay" }) }) });
`,
  );
  writeFileSync(v2, JSON.stringify({ endpoint: "image-generate", body: { prompt: "a quay" } }));
  expect(await cli("run", pipeline, "--budget", "1", "--id", "r", "--journal", journal)).toMatchObject({ code: 0 });
});
afterEach(() => void reader?.kill());
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

async function cli(...args: readonly string[]) {
  const env = { ...process.env, SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
  const { io, stderr, stdout } = fakeIo({ env, cwd: folder });
  const code = await runCli(args, io);
  return { code, said: `${stdout()}${stderr()}` };
}

/** Commands that write a file that somebody named, or one in a folder that somebody named. */
const commands: Readonly<Record<string, { readonly file: string; readonly line: (at: string) => readonly string[] }>> =
  {
    "report --out": {
      file: "page.html",
      line: (at) => ["report", "r", "--journal", journal, "--out", join(at, "page.html")],
    },
    "plan --svg": {
      file: "plan.svg",
      line: (at) => ["plan", pipeline, "--journal", journal, "--svg", join(at, "plan.svg")],
    },
    "models pull --out": { file: "models.ts", line: (at) => ["models", "pull", "--out", at] },
    "migrate --out": { file: "report.md", line: (at) => ["migrate", v2, "--out", at] },
  };

let made = 0;
function emptyPlace(): string {
  const at = join(folder, `place-${made++}`);
  mkdirSync(at);
  return at;
}

for (const [name, { file, line }] of Object.entries(commands)) {
  test(`${name} writes into a named pipe that stands there, and the pipe stays [G16]`, async () => {
    const at = emptyPlace();
    const target = join(at, file);
    execFileSync("mkfifo", [target]);
    // Open for both, so that it reads on whoever has written and gone.
    reader = spawn("sh", ["-c", 'exec 3<>"$0"; exec cat <&3', target], { stdio: ["ignore", "pipe", "ignore"] });
    let read = "";
    reader.stdout!.on("data", (piece: Buffer) => {
      read += piece.toString();
    });
    const { said } = await cli(...line(at));
    expect(lstatSync(target).isFIFO(), said).toBe(true);
    await vi.waitFor(() => expect(read.length).toBeGreaterThan(20), 20_000);
  });

  test(`${name} writes through a link, which stays one, and says so when a device behind it is full`, async () => {
    const at = emptyPlace();
    const elsewhere = join(at, "elsewhere");
    symlinkSync(elsewhere, join(at, file));
    const { said } = await cli(...line(at));
    expect(lstatSync(join(at, file)).isSymbolicLink(), said).toBe(true);
    expect(existsSync(elsewhere)).toBe(true);

    const full = emptyPlace();
    symlinkSync(fullDevice, join(full, file));
    const refused = await cli(...line(full));
    expect(lstatSync(join(full, file)).isSymbolicLink()).toBe(true);
    expect(refused.code).not.toBe(0);
    expect(refused.said).toMatch(/ENOSPC|no space left/);
    expect(refused.said).not.toContain("unexpected");
    expect(lstatSync(fullDevice).isCharacterDevice()).toBe(true);
  });
}
