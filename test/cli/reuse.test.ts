import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manifestSchema } from "../../src/index.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

/** Two pictures, the second after the first. */
const pair = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("pair", {
  input: z.object({ second: z.string().default("b") }),
  profiles: {
    draft: { steps: { second: { fields: { prompt: "quick" } } } },
    home: { service: "local" },
  },
  build({ input, job }) {
    const first = job("first", "image-1", { prompt: "a" });
    return { second: job("second", "image-1", { prompt: input.second, images: [first] }) };
  },
});
`;

let service: Service;
let options: { readonly cwd: string; readonly env: Service["env"] };
beforeAll(async () => {
  service = await startService(["--stub"]);
  options = { cwd: emptyFolder(), env: service.env };
  writeFileSync(join(options.cwd, "pair.ts"), pair);
  const { code, stderr } = await cli(["run", "pair.ts", "--id", "one", "--budget", "1"], options);
  expect(code, stderr).toBe(0);
});
afterAll(() => service?.stop());

const jobsCreated = async () => {
  const stats = await fetch(new URL("/_local/stats", service.env.SHOWRUNNER_BASE_URL));
  return ((await stats.json()) as { readonly jobs_created: number }).jobs_created;
};

test("a command with the id of a run that succeeded starts nothing and prints its outputs again", async () => {
  const before = await jobsCreated();
  const again = await cli(["run", "pair.ts", "--id", "one", "--budget", "1"], options);
  expect({ code: again.code, stdout: again.stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^second\t\S+\n$/),
  });
  expect(again.stderr).toContain("Run one already exists (succeeded): nothing was started.");
  expect(await jobsCreated()).toBe(before);
});

describe("--reuse", () => {
  test("prices reusable results at zero, explains why the rest runs, and runs only that", async () => {
    const before = await jobsCreated();
    const planned = await cli(["plan", "pair.ts", "--reuse", "-i", "second=c"], options);
    expect(planned.stdout).toMatch(/first +image-1 +reused +made by first of run one/);
    expect(planned.stdout).toContain("no earlier run on this account made an identical request");
    const ran = await cli(["run", "pair.ts", "--reuse", "-i", "second=c", "--id", "two", "--budget", "1"], options);
    expect(ran.code, ran.stderr).toBe(0);
    expect((await jobsCreated()) - before).toBe(1);
    const manifest = manifestSchema.parse(
      JSON.parse(readFileSync(join(options.cwd, "out/two/second.png.json"), "utf8")),
    );
    expect(manifest.steps.map(({ path, reused_from }) => [path, reused_from?.run])).toEqual([
      ["first", "one"],
      ["second", undefined],
    ]);
  });
});

describe("--profile", () => {
  test("runs the pipeline as that profile has it, and a name that there is not is a problem", async () => {
    const { stdout, code } = await cli(["plan", "pair.ts", "--profile", "draft", "--json"], options);
    expect(code).toBe(0);
    const { steps } = JSON.parse(stdout) as { readonly steps: readonly { readonly input: object }[] };
    expect(steps[1]?.input).toMatchObject({ prompt: "quick" });
    const wrong = await cli(["plan", "pair.ts", "--profile", "darft"], options);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("did you mean draft?");
  });

  test("for the local service selects it, whatever the environment says", async () => {
    const { code, stderr } = await cli(["plan", "pair.ts", "--profile", "home"], options);
    expect(code, stderr).toBe(0);
    expect(existsSync(join(options.cwd, ".showrunner/local"))).toBe(true);
  });
});
