import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

/** Two pictures into a third. */
const drawn = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("drawn", {
  input: z.object({}),
  build({ job }) {
    const first = job("first", "image-1", { prompt: "a" });
    const other = job("other", "image-1", { prompt: "b" });
    return { mix: job("mix", "image-1", { prompt: "both", images: [first, other] }) };
  },
});
`;

describe("a drawn plan", () => {
  let service: Service;
  let options: { readonly cwd: string; readonly env: Service["env"] };

  beforeAll(async () => {
    service = await startService(["--stub", "--balance", "0"]);
    options = { cwd: emptyFolder(), env: service.env };
    writeFileSync(join(options.cwd, "drawn.ts"), drawn);
  });

  afterAll(() => service?.stop());

  test("as Mermaid has every step with its price and every edge", async () => {
    const { code, stdout, stderr } = await cli(["plan", "drawn.ts", "--mermaid"], options);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^flowchart LR\n/);
    expect(stdout.match(/image-1, \$0\.\d\d/g)).toHaveLength(3);
    expect(stdout.match(/ --> /g)).toHaveLength(2);
    expect(stdout).toMatch(/class s\d(,s\d)+ critical/);
  });

  test("as a picture is written to a file, beside JSON where that is requested", async () => {
    const { code, stdout, stderr } = await cli(["plan", "drawn.ts", "--svg", "plan.svg", "--json"], options);
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
    const svg = readFileSync(join(options.cwd, "plan.svg"), "utf8");
    expect(svg.match(/<g class="step /g)).toHaveLength(3);
    expect(svg).toContain("$0.02");
  });

  test("is refused where it cannot be written, and when two forms want stdout", async () => {
    const nowhere = await cli(["plan", "drawn.ts", "--svg", "no/such/folder/plan.svg"], options);
    expect(nowhere.code).toBe(2);
    expect(nowhere.stderr).toMatch(/could not be written[\s\S]*Next: use a file/);
    const both = await cli(["plan", "drawn.ts", "--mermaid", "--json"], options);
    expect(both.code).toBe(2);
    expect(JSON.parse(both.stdout)).toMatchObject({ ok: false, code: "USAGE" });
    expect(existsSync(join(options.cwd, "no"))).toBe(false);
  });
});
