import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { type LocalService, startLocalService } from "showrunner-local";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { inspect } from "../../../src/film/index.ts";
import { file, pipeline } from "../../../src/index.ts";
import { startBrowser } from "../../demo/support/browser.ts";
import { ffmpeg } from "../../film/support/ffmpeg.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { type Visit, violations, visit } from "./support/browse.ts";
import { type Served, serveDashboard } from "./support/serve.ts";

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
let browser: Browser;
let service: LocalService;
let served: Served;
let seen: Visit;
let page: Page;

beforeAll(async () => {
  const [dark, film] = [join(folder, "dark.png"), join(folder, "film.mp4")];
  await ffmpeg("-v", "error", "-f", "lavfi", "-i", "color=black:s=64x64:d=0.1", "-frames:v", "1", dark);
  const blackout = "testsrc2=s=320x180:r=10:d=5,drawbox=c=black:t=fill:enable='between(t,2,4)'";
  await ffmpeg("-v", "error", "-f", "lavfi", "-i", blackout, "-pix_fmt", "yuv420p", film);
  service = await startLocalService({ renderer: "stub", balance: 5 });
  served = await serveDashboard({ open: { baseUrl: service.baseUrl, apiKey: service.apiKey } });
  browser = await startBrowser();
  seen = await visit(browser, served);
  page = seen.page;
  const run = await served.show.run(checked, { dark, film }, { id: "c", outDir: join(folder, "out") });
  expect((await run.result()).pause?.reason).toBe("approval");
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await served?.[Symbol.asyncDispose]();
  await service?.close();
});

const refused = (step: string) => page.getByRole("region", { name: `Refused by ${step}` });
const shot = (name: string) => page.screenshot({ path: join(process.env.SHOTS ?? folder, `${name}.png`) });

test("a verdict that refused shows its reasons and its frames, on its own step and on the one that it holds up", async () => {
  for (const step of ["lit-check", "lit"]) {
    await seen.go(`/runs/c/graph?step=${step}`);
    const region = refused("lit-check");
    await region.getByText("image 1 is black").waitFor();
    const frame = region.getByRole("img", { name: "lit-frames" });
    await frame.scrollIntoViewIfNeeded();
    await expect
      .poll(() => frame.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(64);
    await shot(step);
  }
  expect(await violations(page)).toEqual([]);
});

test("a check that found a stretch of a film shows the frame within it", async () => {
  await seen.go("/runs/c/graph?step=whole");
  await refused("whole")
    .getByText(/^it is black from 2 s to 4/)
    .waitFor();
  const frame = refused("whole").locator("video");
  await frame.scrollIntoViewIfNeeded();
  await expect
    .poll(() => frame.evaluate((one) => Math.round((one as unknown as { currentTime: number }).currentTime)))
    .toBe(3);
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
