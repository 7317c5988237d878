import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { greyPng } from "../../src/core/kit/placeholder-media.ts";
import { cli, emptyFolder } from "./support/cli.ts";
import { startService } from "./support/service.ts";

const STILL = Buffer.from(greyPng(32)).toString("base64");

/** A task writes a file, which another task reads once a person has agreed to it. */
const cut = `
import { writeFile } from "node:fs/promises";
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("cut", {
  input: z.object({}),
  build({ task, approve }) {
    const film = task("film", {}, async (_, { file }) => {
      await writeFile(file("still"), Buffer.from("${STILL}", "base64"));
      return {};
    }, { files: { still: "image" } });
    return { last: task("last", { film: approve("look", film) }, () => "read") };
  },
});
`;

test("a task's file that is lost pauses the run: --json prints its document, and every place names the one command that goes on [G14]", async () => {
  await using service = await startService(["--stub"]);
  const options = { cwd: emptyFolder(), env: service.env };
  writeFileSync(join(options.cwd, "cut.ts"), cut);
  const asked = await cli(["run", "cut.ts", "--id", "x", "--budget", "1"], options);
  expect(asked.code, asked.stderr).toBe(3);
  const media = join(options.cwd, ".showrunner/media");
  for (const name of readdirSync(media)) rmSync(join(media, name), { recursive: true });
  expect((await cli(["approve", "x", "look"], options)).code).toBe(0);
  const next = { command: "showrunner resume x --rerun film" };
  // Whoever resumes it without the flag is told the same again.
  for (const _ of [1, 2]) {
    const resumed = await cli(["resume", "x", "--json"], options);
    expect([resumed.code, resumed.stdout], resumed.stderr).toEqual([3, expect.stringMatching(/^\{/)]);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: "paused", message: /film/, next });
  }
  expect(JSON.parse((await cli(["show", "x", "--json"], options)).stdout)).toMatchObject({ status: "paused", next });
  expect((await cli(["show", "x"], options)).stdout).toMatch(/^x {2}\S+ {2}paused \(files\) {2}cost .*\n\S.*copy/);
  const again = await cli(["resume", "x", "--rerun", "film", "--json", "--yes"], options);
  expect(again.code, again.stderr).toBe(3);
  expect(JSON.parse(again.stdout)).toMatchObject({ status: "paused" });
  expect((await cli(["approve", "x", "look", "--resume"], options)).code).toBe(0);
});
