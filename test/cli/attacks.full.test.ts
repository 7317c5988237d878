import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readReport } from "../studio/report/support/read-report.ts";
import { type CliEnd, cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

vi.setConfig({ testTimeout: 240_000 });

/** Clears the screen, sets the title, rings, reorders, hides, and looks like markup. */
const evil = `\u001b[2J\u001b]0;owned\u0007\u009b31m\u202Etxt.exe\u2066 <script>alert(1)</script>\u0000\u0008\rfake`;
/** Control characters and reordering marks that are no line break of ours. */
const danger = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

let service: Service;
const cwd = emptyFolder();
const file = join(cwd, "evil.ts");
const cliHere = (...args: readonly string[]) => cli(args, { cwd, env: service.env });

/** The pipeline holds the text itself: an argument of a process cannot hold a NUL. */
function write(path: string, prompt: string): void {
  const text = JSON.stringify(prompt);
  writeFileSync(
    path,
    `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("evil", {
  input: z.object({ long: z.string().default("") }),
  build({ job, approve }) {
    const face = job("face", "image-1", { prompt: ${text} });
    return { face: approve("fine", face, { message: ${text} }) };
  },
});
`,
  );
}

beforeAll(async () => {
  service = await startService(["--stub"]);
  write(file, evil);
});
afterAll(() => service.stop());

function expectHarmless(...ends: readonly CliEnd[]): void {
  for (const { stdout, stderr } of ends) {
    expect(stdout).not.toMatch(danger);
    expect(stderr).not.toMatch(danger);
  }
}

describe("a prompt with escape sequences", () => {
  test("moves no cursor, sets no title and reorders nothing, whatever command shows it", async () => {
    const other = join(cwd, "other.ts");
    write(other, `other ${evil}`);
    const ran = await cliHere("run", file, "--budget", "1", "--id", "r");
    expect(ran.code, ran.stderr).toBe(3);
    expectHarmless(
      ran,
      await cliHere("approve", "r"),
      await cliHere("approve", "r", "--json"),
      await cliHere("events", "r"),
      await cliHere("events", "r", "--json"),
      await cliHere("show", "r"),
      await cliHere("plan", file, "--json"),
      await cliHere("plan", file, "--mermaid"),
      await cliHere("plan", other, "--against", "r"),
      await cliHere("resume", "r", "--file", other),
      await cliHere("reject", "r", "fine", "--note", evil.replaceAll("\u0000", "")),
      await cliHere("resume", "r"),
      await cliHere("report", "r"),
      await cliHere("jobs", "list"),
    );
  });

  test("adds nothing to the report but its own letters", async () => {
    const { document, run } = readReport(join(cwd, "out/r/report.html"));
    expect(JSON.stringify(run)).toContain("<script>alert(1)</script>");
    // Data and the page's own script are the three.
    const ours = document.replace(/<script type="module">[\s\S]*?<\/script>/, "");
    expect(ours.match(/<script/gi)).toHaveLength(2);
    expect(ours).not.toMatch(danger);
  });

  test("is shown by its codes in what was typed wrong, too", async () => {
    const typed = evil.replaceAll("\u0000", "");
    expectHarmless(
      await cliHere("show", typed),
      await cliHere("run", typed),
      await cliHere("run", file, "--id", typed, "--budget", "1"),
      await cliHere("plan", file, "-i", typed),
      await cliHere("approve", "r", typed),
      await cliHere("resume", "r", "--rerun", typed),
      await cliHere(typed),
    );
  });
});

describe("a text of ten megabytes", () => {
  test("as a prompt is refused in a few lines", async () => {
    const long = join(cwd, "long.ts");
    write(long, "long ".repeat(2_000_000));
    const { code, stdout, stderr } = await cliHere("run", long, "--budget", "1");
    expect(code).toBe(2);
    expect(stdout.length + stderr.length).toBeLessThan(4_000);
  });

  test("as an input that no model sees is stored, and neither the tables nor the report fail on it", async () => {
    writeFileSync(join(cwd, "long.json"), JSON.stringify({ long: "x".repeat(10_000_000) }));
    const ran = await cliHere("run", file, "--input", "@long.json", "--budget", "1", "--id", "long");
    expect(ran.code, ran.stderr).toBe(3);
    const shown = [await cliHere("show", "long"), await cliHere("events", "long"), await cliHere("runs")];
    for (const { stdout } of [ran, ...shown]) expect(stdout.length).toBeLessThan(10_000);
    await cliHere("report", "long", "--out", "long.html");
    const { run } = readReport(join(cwd, "long.html"));
    expect(JSON.stringify(run).length).toBeLessThan(100_000);
    expect(run.answers.given).toMatchObject({ isCut: true });
  });
});

describe("names that lead elsewhere", () => {
  test.each([["../outside"], ["/etc/outside"], [".."]])("%j is no run id, detached or not", async (id) => {
    for (const more of [[], ["--detach"]]) {
      const { code, stderr } = await cliHere("run", file, "--budget", "1", "--id", id, ...more);
      expect(code, stderr).toBe(2);
    }
    expect(readdirSync(dirname(cwd))).not.toContain("outside");
    expect(existsSync(join(cwd, ".showrunner/logs"))).toBe(false);
  });
});
