import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { startService } from "./support/service.ts";

/** Many processes one after the other, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

describe("init", () => {
  test("writes a pipeline that plans and runs as it is", async () => {
    await using service = await startService(["--stub"]);
    const cwd = emptyFolder();
    const { code, stdout, stderr } = await cli(["init", "films/first.ts"], { cwd });
    expect(code).toBe(0);
    expect(stdout.trim()).toBe(join(cwd, "films/first.ts"));
    expect(stderr).toContain("allowImportingTsExtensions");
    expect(stderr).toContain("showrunner plan films/first.ts");
    const run = await cli(["run", "films/first.ts", "--budget", "2", "--json"], { cwd, env: service.env });
    expect(run.code, run.stderr).toBe(0);
  });

  test("overwrites nothing, and adds its line to .gitignore once", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, ".gitignore"), "node_modules/");
    await cli(["init"], { cwd });
    expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe("node_modules/\n.showrunner/\n");
    writeFileSync(join(cwd, "film.ts"), "mine");
    const again = await cli(["init"], { cwd });
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("nothing is overwritten");
    expect(readFileSync(join(cwd, "film.ts"), "utf8")).toBe("mine");
    await cli(["init", "other.ts"], { cwd });
    expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe("node_modules/\n.showrunner/\n");
  });

  test("adds the local service to the project's development dependencies once, and shows how to install it", async () => {
    const cwd = emptyFolder();
    const manifest = join(cwd, "package.json");
    writeFileSync(manifest, '{\n\t"name": "film",\n\t"devDependencies": { "zod": "4.6.7" }\n}');
    const first = await cli(["init", "--json"], { cwd });
    expect(JSON.parse(first.stdout)).toMatchObject({ local_service: "added" });
    expect(first.stderr).toMatch(/Next: npm install\s+\(installs the local service\)/);
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
    const written = `{\n\t"name": "film",\n\t"devDependencies": {\n\t\t"showrunner-local": "^${version}",\n\t\t"zod": "4.6.7"\n\t}\n}\n`;
    expect(readFileSync(manifest, "utf8")).toBe(written);
    const again = await cli(["init", "other.ts", "--json"], { cwd });
    expect(JSON.parse(again.stdout)).toMatchObject({ local_service: "had it" });
    expect(readFileSync(manifest, "utf8")).toBe(written);
  });

  test.each(["none", "not JSON"])(
    "a package.json that is %s is left alone, and the command to type is named",
    async (what) => {
      const cwd = emptyFolder();
      if (what !== "none") writeFileSync(join(cwd, "package.json"), "{");
      const { code, stderr } = await cli(["init"], { cwd });
      expect(code).toBe(0);
      expect(stderr).toContain("Next: npm i -D showrunner-local");
    },
  );

  test("a file that is no TypeScript is refused", async () => {
    const { code, stderr } = await cli(["init", "film.txt"]);
    expect(code).toBe(2);
    expect(stderr).toContain("showrunner init film.ts");
  });
});
