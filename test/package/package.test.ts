import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "showrunner-package-"));
const installed = join(folder, "node_modules", "showrunner");
let contents: readonly string[] = [];

/** Packs as a release would, and lays the package out as an install would. */
beforeAll(() => {
  const npm = (...args: string[]) =>
    execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  execFileSync(process.execPath, [join(root, "scripts/build.ts")], { stdio: "ignore" });
  const [packed] = JSON.parse(npm("pack", "--ignore-scripts", "--json", "--pack-destination", folder)) as [
    { readonly filename: string; readonly files: readonly { readonly path: string }[] },
  ];
  contents = packed.files.map(({ path }) => path);
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, packed.filename), "-C", installed, "--strip-components=1"]);
  symlinkSync(join(root, "node_modules"), join(installed, "node_modules"));
  symlinkSync(join(root, "node_modules", "zod"), join(folder, "node_modules", "zod"));
});

function installedCli(...args: string[]) {
  const { SHOWRUNNER_BASE_URL: _url, SHOWRUNNER_API_KEY: _key, SHOWRUNNER_JOURNAL: _journal, ...env } = process.env;
  return spawnSync(process.execPath, [join(installed, "bin/showrunner.js"), ...args], {
    cwd: folder,
    encoding: "utf8",
    env,
  });
}

describe("the package", () => {
  test("holds what was built, its types and its papers, and no sources or tests", () => {
    for (const file of [
      "dist/index.js",
      "dist/index.d.ts",
      "bin/showrunner.js",
      "dist/cli/main.js",
      "dist/dashboard/page/index.html",
      "dist/dashboard/page/LICENSES.txt",
      "README.md",
      "CHANGELOG.md",
      "LICENSE",
    ]) {
      expect(contents).toContain(file);
    }
    expect(contents.filter((file) => /^(src|test|scripts|recipes|bench)\//.test(file))).toEqual([]);
    expect(contents.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))).toEqual([]);
  });

  test("its command can be executed and says its version", () => {
    const command = join(installed, "bin/showrunner.js");
    expect(readFileSync(command, "utf8").startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect(statSync(command).mode & 0o111).toBe(0o111);
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
    expect(installedCli("--version").stdout).toBe(`${version}\n`);
  });

  test.each(["showrunner", "showrunner/client", "showrunner/local-service"])("%s can be imported", (name) => {
    const code = `const all = await import(${JSON.stringify(name)}); process.exit(Object.keys(all).length > 0 ? 0 : 1);`;
    const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("runs a user's pipeline on the local service that comes with it, down to the file", () => {
    writeFileSync(
      join(folder, "poster.ts"),
      `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("poster", {
  input: z.object({ subject: z.string() }),
  build: ({ input, job }) => ({ poster: job("poster", "image-1", { prompt: input.subject, aspect_ratio: "1:1" }) }),
});
`,
    );
    const { status, stdout, stderr } = installedCli("run", "poster.ts", "-i", "subject=a red kite", "--id", "first");
    expect(status, stderr).toBe(0);
    const [name, path] = stdout.trim().split("\t");
    expect(name).toBe("poster");
    expect(
      readFileSync(path ?? "")
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
  });
});
