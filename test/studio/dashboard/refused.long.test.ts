import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { inspect } from "../../../src/film/index.ts";
import { file, pipeline } from "../../../src/index.ts";
import { ffmpeg } from "../../film/support/ffmpeg.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { openDashboard, violations } from "./support/browse.ts";

let looks = 0;
/** Refuses what is looked at first. */
const firstRefused = () => (++looks === 1 ? ["the boat has no sail", "there are letters"] : null);

const checked = pipeline("checked", {
  input: z.object({ dark: file("image"), film: file("video") }),
  build({ input, upload, job, task, chat, choose, approve }) {
    const judge = { model: "chat-1", asks: "There is a boat.", maxCost: "0.01" };
    const dark = inspect({ task, chat, choose }, "lit", upload("dark", input.dark), { judge });
    const film = inspect(choose, "whole", upload("film", input.film), { notBlack: true });
    const still = job("still", models.image, { prompt: "a boat" }, { accept: firstRefused, acceptAttempts: 2 });
    return { fine: approve("fine", still), dark, film };
  },
});

const folder = newFolder();
const { seen, page, run } = await openDashboard({ balance: 5 });

beforeAll(async () => {
  const [dark, film] = [join(folder, "dark.png"), join(folder, "film.mp4")];
  await ffmpeg("-v", "error", "-f", "lavfi", "-i", "color=black:s=64x64:d=0.1", "-frames:v", "1", dark);
  const blackout = "testsrc2=s=320x180:r=10:d=5,drawbox=c=black:t=fill:enable='between(t,2,4)'";
  await ffmpeg("-v", "error", "-f", "lavfi", "-i", blackout, "-pix_fmt", "yuv420p", film);
  expect((await run(checked, { dark, film }, { id: "c" })).pause?.reason).toBe("approval");
}, 120_000);

const refused = (step: string) => page.getByRole("region", { name: `Refused by ${step}` });
const shot = (name: string) => page.screenshot({ path: join(process.env.SHOTS ?? folder, `${name}.png`) });

test("a verdict that refused shows its reasons and its frames, on its own step and on the one that it holds up", async () => {
  for (const step of ["lit-check", "lit"]) {
    await seen.go(`/runs/c/graph?step=${step}`);
    const region = refused("lit-check");
    await region.getByText("image 1 is black").waitFor();
    const frame = region.getByRole("img", { name: "lit-frames" });
    await frame.scrollIntoViewIfNeeded();
    const width = () => frame.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth);
    await expect.poll(width).toBe(64);
    await shot(step);
  }
  expect(await violations(page)).toEqual([]);
});

test("a check that found a stretch of a film shows the frame within it", async () => {
  await seen.go("/runs/c/graph?step=whole");
  const region = refused("whole");
  await region.getByText(/^it is black from 2 s to 4/).waitFor();
  const frame = region.locator("video");
  await frame.scrollIntoViewIfNeeded();
  const at = () => frame.evaluate((one) => Math.round((one as unknown as { currentTime: number }).currentTime));
  await expect.poll(at).toBe(3);
  await shot("whole");
});

test("a review says what was refused before what it shows", async () => {
  await seen.go("/review?at=c%2Ffine");
  const region = refused("still/1-ok");
  await region.getByText("there are letters").waitFor();
  expect(await region.getByRole("listitem").allInnerTexts()).toContain("the boat has no sail");
  await region.getByRole("img", { name: "still/1" }).waitFor();
  await shot("review");
  expect(await violations(page)).toEqual([]);
  expect(seen.complaints).toEqual([]);
});
