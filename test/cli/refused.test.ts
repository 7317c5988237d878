import { existsSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { fastFolder } from "../../src/testing/surroundings.ts";
import { ffmpeg } from "../film/support/ffmpeg.ts";
import { cli } from "./support/cli.ts";

/** A dark picture that a judge's check refuses, an upload refused as a whole, and a job whose first attempt was. */
const PIPELINE = `import { file, pipeline } from "showrunner";
import { inspect } from "showrunner/film";
import { z } from "zod";

let looks = 0;
const firstRefused = () => (++looks === 1 ? ["the boat has no sail", "there is an escape: \\u001b[2J"] : null);

export default pipeline("checked", {
  input: z.object({ dark: file("image") }),
  build({ input, upload, job, task, chat, choose, approve }) {
    const dark = upload("dark", input.dark);
    const judge = { model: "chat-1", asks: "There is a boat.", maxCost: "0.01" };
    const lit = inspect({ task, chat, choose }, "lit", dark, { judge, notBlack: true });
    const large = inspect(choose, "large", dark, { size: "640x360" });
    const still = job("still", "image-1", { prompt: "a boat" }, { accept: firstRefused, acceptAttempts: 2 });
    return { fine: approve("fine", still), lit, large };
  },
});
`;

interface Shown {
  readonly step: string;
  readonly index: number;
  readonly content_type: string;
  readonly path: string;
}
interface Refused {
  readonly step: string;
  readonly reason: string;
  readonly shows: readonly Shown[];
}

let service: LocalService;
let folder: string;
const here = (...args: readonly string[]) =>
  cli(args, { cwd: folder, env: { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey } });

beforeAll(async () => {
  folder = await fastFolder("refused-");
  service = await startLocalService({ renderer: "stub", balance: 5, dataDir: join(folder, "service") });
  await writeFile(join(folder, "checked.ts"), PIPELINE);
  const dark = join(folder, "dark.png");
  await ffmpeg("-v", "error", "-f", "lavfi", "-i", "color=black:s=64x64:d=0.1", "-frames:v", "1", dark);
  const { code, stderr } = await here(
    "run",
    "checked.ts",
    "--input",
    JSON.stringify({ dark }),
    "--id",
    "c",
    "--budget",
    "1",
  );
  expect(code, stderr).toBe(3);
});
afterAll(async () => {
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

test("a run shows what each check refused, why, and the files that it looked at", async () => {
  const { stdout } = await here("show", "c");
  const refused = stdout.slice(stdout.indexOf("Refused by"));
  expect(refused).toMatch(/^Refused by lit-check: it is black$/m);
  expect(refused).toMatch(/^Refused by large: it has 64x64; expected 640x360$/m);
  expect(refused).toContain("Refused by still/1-ok: the boat has no sail; there is an escape: ");
  expect(refused).not.toContain("\u001b");
  const paths = [...refused.matchAll(/^ {2}(\S+)$/gm)].map(([, path]) => path!);
  expect(paths).toEqual([
    expect.stringMatching(/lit-frames.*\.jpg$/),
    expect.stringMatching(/dark\.png$/),
    expect.stringMatching(/still_1-.*\.png$/),
  ]);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  expect([...readFileSync(paths[0]!).subarray(0, 2)]).toEqual([0xff, 0xd8]);
});

test("the same is said to programs", async () => {
  const { refused } = JSON.parse((await here("show", "c", "--json")).stdout) as { refused: readonly Refused[] };
  expect(refused).toEqual([
    { step: "lit-check", reason: "it is black", shows: [{ step: "lit-frames", index: 0 }] },
    { step: "large", reason: "it has 64x64; expected 640x360", shows: [{ step: "dark", index: 0 }] },
    { step: "still/1-ok", reason: expect.stringMatching(/^the boat/), shows: [{ step: "still/1", index: 0 }] },
  ]);
});

test("a decision is told what was refused on the way to what it is shown", async () => {
  const { stdout, code } = await here("approve", "c");
  expect(code).toBe(3);
  expect(stdout.match(/Refused by .*/g)).toEqual([expect.stringContaining("still/1-ok: the boat has no sail; ")]);
  expect(stdout).toMatch(/^ {2}\S*still_1-\S*\.png$/m);
  const [waiting] = JSON.parse((await here("approve", "c", "--json")).stdout) as [{ refused: readonly Refused[] }];
  expect(waiting.refused).toMatchObject([{ step: "still/1-ok", shows: [{ step: "still/1", index: 0 }] }]);
  expect(existsSync(waiting.refused[0]!.shows[0]!.path)).toBe(true);
});
