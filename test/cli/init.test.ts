import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { startService } from "./support/service.ts";

describe("init", () => {
  test("writes a pipeline that plans and runs as it is", async () => {
    await using service = await startService(["--stub"]);
    const cwd = emptyFolder();
    const { code, stdout, stderr } = await cli(["init", "films/first.ts"], { cwd });
    expect(code).toBe(0);
    expect(stdout.trim()).toBe(join(cwd, "films/first.ts"));
    expect(stderr).toContain("tsconfig.json is for your editor");
    expect(JSON.parse(readFileSync(join(cwd, "tsconfig.json"), "utf8"))).toMatchObject({
      compilerOptions: { strict: true },
    });
    expect(stderr).toContain("showrunner plan films/first.ts");
    const run = await cli(["run", "films/first.ts", "--budget", "2", "--json"], { cwd, env: service.env });
    expect(run.code, run.stderr).toBe(0);
  });

  test("overwrites nothing, and adds its line to .gitignore once", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, ".gitignore"), "node_modules/");
    await cli(["init"], { cwd });
    expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe("node_modules/\n.showrunner/\nout/\n");
    writeFileSync(join(cwd, "film.ts"), "mine");
    const again = await cli(["init"], { cwd });
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("already exists and was not overwritten");
    expect(readFileSync(join(cwd, "film.ts"), "utf8")).toBe("mine");
    await cli(["init", "other.ts"], { cwd });
    expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe("node_modules/\n.showrunner/\nout/\n");
  });

  test.each([
    ["export default 1;", "cast.ts exists, but does not export cast, which the recipe imports"],
    ["export const cast = { image: 1 };", "cast.ts exists, but has no video, which the recipe imports"],
  ])(
    "refuses a recipe whose file is replaced by one of the user's that lacks what it imports: %s",
    async (mine, message) => {
      const cwd = emptyFolder();
      writeFileSync(join(cwd, "cast.ts"), mine);
      const { code, stderr } = await cli(["init", "--recipe", "image-to-video"], { cwd });
      expect(stderr).toContain(message);
      expect(stderr).toContain("Next: mkdir films && cd films && npx showrunner init --recipe image-to-video");
      expect([code, readdirSync(cwd)]).toEqual([2, ["cast.ts"]]);
    },
  );

  test.each([".gitignore", "package.json", "tsconfig.json"])(
    "writes nothing through a link that stands in place of %s [foreign folders]",
    async (name) => {
      const [cwd, elsewhere] = [emptyFolder(), emptyFolder()];
      const target = join(elsewhere, "precious");
      writeFileSync(target, "{}");
      symlinkSync(target, join(cwd, name));
      const { code, stderr } = await cli(["init"], { cwd });
      expect(code).toBe(2);
      expect(stderr).toContain("is a link, so nothing was written");
      expect(readdirSync(cwd)).toEqual([name]);
      expect(readFileSync(target, "utf8")).toBe("{}");
    },
  );

  test("makes an empty folder a project: modules, the packages that pipelines need, and the command that installs them", async () => {
    const cwd = emptyFolder();
    const { stdout, stderr } = await cli(["init", "--json"], { cwd });
    const added = ["zod", "@types/node"];
    expect(JSON.parse(stdout)).toMatchObject({ package_json: "written", added, tsconfig: "written" });
    // Names on npm that are not ours yet are not written down.
    expect(stderr).toMatch(
      /Next: npm i CLONE\/packed\/\*\.tgz\s+\(npm run pack creates them in a clone of Showrunner\)/,
    );
    expect(JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"))).toEqual({
      private: true,
      type: "module",
      dependencies: { zod: "^4.0.0" },
      devDependencies: { "@types/node": ">=22" },
    });
  });

  test("adds what package.json lacks once, in its style, and turns a project without code into one of modules", async () => {
    const cwd = emptyFolder();
    const manifest = join(cwd, "package.json");
    const before =
      '{\n\t"type": "commonjs",\n\t"dependencies": { "showrunner": "0.1.0", "zod": "4.6.7", "showrunner-local": "0.1.0" }\n}';
    writeFileSync(manifest, before);
    const first = await cli(["init"], { cwd });
    expect(first.stderr).toContain('package.json now has "type": "module"');
    const written = `{\n\t"type": "module",\n\t"dependencies": {\n\t\t"showrunner": "0.1.0",\n\t\t"zod": "4.6.7",\n\t\t"showrunner-local": "0.1.0"\n\t},\n\t"devDependencies": {\n\t\t"@types/node": ">=22"\n\t}\n}\n`;
    expect(readFileSync(manifest, "utf8")).toBe(written);
    const again = await cli(["init", "other.ts", "--json"], { cwd });
    expect(JSON.parse(again.stdout)).toMatchObject({ package_json: "unchanged", added: [], tsconfig: "unchanged" });
    expect(readFileSync(manifest, "utf8")).toBe(written);
  });

  test("a project of CommonJS with code stays one, and its pipeline is a module by its name", async () => {
    await using service = await startService(["--stub"]);
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "package.json"), '{ "type": "commonjs" }');
    writeFileSync(join(cwd, "index.js"), "module.exports = {};");
    const { stdout } = await cli(["init"], { cwd });
    expect(stdout.trim()).toBe(join(cwd, "film.mts"));
    expect(JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"))).toMatchObject({ type: "commonjs" });
    const plan = await cli(["plan", "film.mts"], { cwd, env: service.env });
    expect(plan.code, plan.stderr).toBe(0);
    const named = await cli(["init", "ad.ts"], { cwd });
    expect(named.stderr).toContain("rename the file to ad.mts");
  });

  test("a package.json that is not JSON is left alone, and the command to type is named", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "package.json"), "{");
    const { code, stderr } = await cli(["init"], { cwd });
    expect(code).toBe(0);
    expect(stderr).toContain("Next: correct package.json");
    expect(readFileSync(join(cwd, "package.json"), "utf8")).toBe("{");
    const named = await cli(["init", "ad.ts"], { cwd });
    expect(named.stderr).toContain("package.json cannot be read or is not valid JSON, so it was left unchanged");
    expect(named.stderr).not.toContain("lacks");
    const recipe = await cli(["init", "--recipe", "image-to-video"], { cwd });
    expect([recipe.code, recipe.stderr]).toEqual([2, expect.stringContaining("is not valid JSON")]);
  });

  test("a folder that is named like a source file is no code", async () => {
    const cwd = emptyFolder();
    mkdirSync(join(cwd, "vendor/three.js"), { recursive: true });
    const { code, stderr } = await cli(["init"], { cwd });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"))).toMatchObject({ type: "module" });
  });

  test.each([
    ["film.ts", [], "film.ts already exists and was not overwritten"],
    ["package.json", [], "package.json is a folder, so nothing was written"],
    [".gitignore", [], ".gitignore is a folder, so nothing was written"],
    ["tsconfig.json", [], "tsconfig.json is a folder, so nothing was written"],
    ["cast.ts", ["--recipe", "image-to-video"], "cast.ts is a folder, so nothing was written"],
  ])("nothing is written where a folder stands in place of %s", async (name, args, message) => {
    const cwd = emptyFolder();
    mkdirSync(join(cwd, name));
    const { code, stderr } = await cli(["init", ...args], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(readdirSync(cwd)).toEqual([name]);
  });

  test("nothing is written where a file stands in place of a folder", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "films"), "mine");
    const { code, stderr } = await cli(["init", "films/first.ts"], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining("films is not a folder, so nothing was written")]);
    expect(readdirSync(cwd)).toEqual(["films"]);
  });

  test("a file that is no TypeScript is refused", async () => {
    const { code, stderr } = await cli(["init", "film.txt"]);
    expect(code).toBe(2);
    expect(stderr).toContain("showrunner init film.ts");
  });
});
