import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { cli } from "../../cli/support/cli.ts";
import { startService } from "../../cli/support/service.ts";
import { breaking, largeCatalog, tableText } from "../../support/large-catalog/index.ts";
import { typeCheck } from "../../support/type-check.ts";

// Two compiles of every model, and processes one after the other.
vi.setConfig({ testTimeout: 180_000 });

const { entries, models } = largeCatalog();
const levels = models[0]!;
const twoWays = models.find(({ rows }) => rows.length === 2)!;
const boxed = models.find(({ fields, required }) => fields.has("bounding_box") && !required.includes("start_image"))!;

/** A pipeline that gives a tuple to a model that takes one. */
const useOf = (model: string, box: string) => `import { pipeline } from "showrunner";
import { z } from "zod";
import { models } from "./models.ts";
export default pipeline("p", {
  input: z.object({}),
  build: ({ job }) => ({ made: job("made", models.${model}, { prompt: "x", duration_ms: 6000, bounding_box: ${box} }) }),
});
`;

/** The command line against a service process that has the catalog. */
async function project() {
  const cwd = mkdtempSync(join(tmpdir(), "large-catalog-"));
  const catalog = join(cwd, "served.json");
  writeFileSync(catalog, JSON.stringify(entries));
  const service = await startService(["--catalog", catalog, "--stub"]);
  const run = (...args: readonly string[]) => cli(args, { cwd, env: service.env });
  return { cwd, run, service };
}

test("a newcomer pulls it, compiles against it, is shown tables in full and planned by them", async () => {
  const { cwd, run, service } = await project();
  await using _ = service;
  expect(await run("models", "pull")).toMatchObject({ code: 0 });
  const source = readFileSync(join(cwd, "models.ts"), "utf8");
  for (const { id } of models) expect(source).toContain(`(${JSON.stringify(id)}, `);
  const [, name = ""] = new RegExp(`(\\w+): model<[^(]*\\("${boxed.id}"`).exec(source) ?? [];
  const compiled = (box: string) => {
    return typeCheck({ "models.ts": source, "use.ts": useOf(name, box) }, "src/index.ts");
  };
  expect(await compiled("[0, 0, 1, 1]")).toBe("");
  expect(await compiled("[0, 0, 1]")).toMatch(/^use\.ts\(6,\d+\): error TS2322/);

  const shown = await run("models", "show", levels.id);
  expect(shown.stdout).toContain(tableText(levels.rows));

  const media = () => ({ source: "asset", asset_id: "asset_00000000-0000-4000-8000-000000000000" });
  const [wrong] = breaking(twoWays, media);
  writeFileSync(
    join(cwd, "wrong.ts"),
    `import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("wrong", { input: z.object({}), build: ({ job }) => ({ made: job("made", ${JSON.stringify(twoWays.id)}, ${JSON.stringify(wrong)}) }) });`,
  );
  const planned = await run("plan", "wrong.ts");
  expect(planned).toMatchObject({ code: 2, stdout: "" });
  expect(planned.stderr).toMatch(/made {2}input\.\w+: the fields do not match any of the 2 combinations .*nearest: /);
});
