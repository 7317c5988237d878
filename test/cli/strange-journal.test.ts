import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beginCli, cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

let service: Service;
/** Where the journal and its pipeline lie, and where somebody looks at it from. */
const [theirs, ours] = [realpathSync(emptyFolder()), realpathSync(emptyFolder())];
const code = join(theirs, "studio.ts");
const canary = join(theirs, "it-was-run");
const journal = ["--journal", join(theirs, ".showrunner/journal.db")];
const look = (...args: readonly string[]) => cli([...args, ...journal], { cwd: ours, env: service.env });

beforeAll(async () => {
  service = await startService(["--stub"]);
  const pipeline = `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("studio", {
  input: z.object({}),
  build({ job, approve, task }) {
    const face = approve("fine", job("face", "image-1", { prompt: "a face" }), { message: "Is it fine?" });
    return { face, note: task("note", { face }, async () => "noted", { version: "1" }) };
  },
});
`;
  writeFileSync(code, pipeline);
  const ran = await cli(["run", code, "--budget", "1", "--id", "r"], { cwd: theirs, env: service.env });
  expect(ran.code, ran.stderr).toBe(3);
  writeFileSync(
    code,
    `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(canary)}, "");\n${pipeline}`,
  );
});
afterAll(() => service.stop());

test.each([["runs"], ["show", "r"], ["events", "r"], ["report", "r"], ["reconcile", "r"]])(
  "%s of somebody else's journal runs nothing and writes nothing there [foreign data]",
  async (...args) => {
    const before = readdirSync(theirs, { recursive: true }).length;
    await look(...args);
    expect(existsSync(canary)).toBe(false);
    const added = readdirSync(theirs, { recursive: true, encoding: "utf8" }).filter(
      (path) => !path.startsWith(".showrunner"),
    );
    expect(added).not.toContain("out/r/report.html");
    expect(before).toBeGreaterThan(0);
  },
);

test.each([
  [["runs"]],
  [["resume", "r"]],
  [["show", "r"]],
  [["approve"]],
  [["reject", "r", "fine"]],
  [["stop", "r"]],
  [["open", "r", "face"]],
  [["report", "r"]],
  [["events", "r"]],
  [["review-link", "r"]],
  [["export", "r", "--otio", "cut.otio"]],
  [["statement"]],
  [["adopt", "r"]],
  [["reconcile"]],
  [["gc"]],
])("%j --journal with a mistyped path is refused, and creates no journal", async (args) => {
  const folder = emptyFolder();
  const ran = await cli([...args, "--journal", "journl.db"], { cwd: folder, env: service.env });
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("--journal: journl.db does not exist")]);
  expect(readdirSync(folder)).toEqual([]);
});

test("the report of somebody else's run is written where the flag says", async () => {
  const { stdout } = await look("report", "r");
  expect(stdout.trim()).toBe(join(ours, "report-r.html"));
  expect(readFileSync(join(ours, "report-r.html"), "utf8")).toContain("a face");
});

test.each([[["resume", "r"]], [["resume", "r", "--accept-changes"]]])(
  "%s refuses code that the journal names outside of this folder, and says how to name it",
  async (args) => {
    const { code: exit, stderr } = await look(...args);
    expect([exit, existsSync(canary)]).toEqual([2, false]);
    expect(stderr).toContain(code);
    expect(stderr).toContain("--file");
  },
);

test("a worker refuses it too", async () => {
  await look("approve", "r", "fine");
  const { stderr } = await look("worker", "--once");
  expect(existsSync(canary), stderr).toBe(false);
});

test("the dashboard's outlook loads no code outside of its folder that was not named when it was started", async () => {
  const dashboard = beginCli(["dashboard", "--port", "0", ...journal], { cwd: ours, env: service.env });
  const url = (await dashboard.printed).trim();
  const entered = await fetch(url, { redirect: "manual" });
  const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
  const { origin } = new URL(url);
  const preview = await fetch(`${origin}/api/runs/r/resume-preview`, {
    method: "POST",
    headers: { cookie, origin, "content-type": "application/json" },
    body: "{}",
  });
  expect([preview.status, existsSync(canary)]).toEqual([200, false]);
  expect((await dashboard.stop()).stderr).toContain(code);
});

test("a file that is named on the command line is loaded", async () => {
  await look("resume", "r", "--file", code);
  expect(existsSync(canary)).toBe(true);
});
