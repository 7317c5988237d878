import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { writeReport } from "../../../src/studio/dashboard/index.ts";
import { startBrowser } from "../../demo/support/browser.ts";
import { isFull } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { violations } from "../dashboard/support/browse.ts";
import { bigRun, jobStep, SampleRun, uploadStep } from "./support/sample-run.ts";

const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==",
  "base64",
);
const longMs = 120_000;

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
}, longMs);
afterAll(() => browser.close());

const hostile = `<img src="https://evil.test/x.png"><script>document.title = "owned"</script>`;

/** A run with everything in it: two pictures, a failed attempt, a pause, a hostile prompt. */
async function written(run: SampleRun, folder: string, inlineBytes?: number): Promise<string> {
  const options = {
    mediaDir: join(folder, "media"),
    file: join(folder, `${run.id}.html`),
    writtenAt: run.now,
    version: "1.2.3",
  };
  const { file } = await writeReport(
    run.show(),
    run.id,
    inlineBytes === undefined ? options : { ...options, inlineBytes },
  );
  return pathToFileURL(file).href;
}

/** Puts bytes into the media store of a folder; answers their hash. */
function kept(folder: string, bytes: Buffer): string {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  mkdirSync(join(folder, "media", sha256.slice(0, 2)), { recursive: true });
  writeFileSync(join(folder, "media", sha256.slice(0, 2), sha256), bytes);
  return sha256;
}

function full(folder: string, id: string): SampleRun {
  const outDir = join(folder, "out");
  mkdirSync(outDir, { recursive: true });
  const [face, look] = [pixel, Buffer.concat([pixel, Buffer.alloc(2000)])].map((bytes) => kept(folder, bytes));
  const steps = [
    uploadStep("sample"),
    jobStep("face", [], { prompt: hostile }),
    jobStep("look"),
    jobStep("shot-1", ["face"]),
  ];
  const run = new SampleRun(steps, { id, outDir }).start().submit("face").wait(500).begin("face").wait(900);
  run.fail("face", 1, hostile).wait(700).submitAgain("face").submit("look").wait(400).begin("face", 2).begin("look");
  run.wait(900).complete("face", 2).download("face", 2, face).complete("look").download("look", 1, look);
  run.place("face", "face", "a face.png").place("look", "look", "look.png");
  return run.add({ type: "run.paused", reason: "budget", message: ownText(hostile) });
}

async function looked(
  url: string,
  scheme: "light" | "dark",
  work: (page: Page, asked: readonly string[]) => Promise<void>,
) {
  const context = await browser.newContext({
    colorScheme: scheme,
    offline: true,
    viewport: { width: 1100, height: 800 },
  });
  try {
    const page = await context.newPage();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    await page.goto(url);
    await page.getByRole("tab").first().waitFor();
    await work(page, asked);
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

describe("a report in a browser", () => {
  const folder = newFolder();

  test.each(isFull ? (["light", "dark"] as const) : (["dark"] as const))(
    "is accessible in the %s theme: paused, with many steps, and empty",
    async (scheme) => {
      for (const run of [full(folder, "full"), bigRun(40), new SampleRun([], { id: "empty" })]) {
        await looked(await written(run, folder), scheme, async (page) => {
          for (const tab of await page.getByRole("tab").all()) {
            await tab.click();
            expect(await violations(page)).toEqual([]);
          }
        });
      }
    },
    longMs,
  );

  test.each([
    ["in the page", undefined],
    ["beside it", 0],
  ])(
    "opened from disk without a network, shows its pictures when they stand %s",
    async (_where, inlineBytes) => {
      const url = await written(full(folder, `media-${inlineBytes}`), folder, inlineBytes);
      await looked(url, "light", async (page, asked) => {
        await page.waitForFunction("[...document.images].every((image) => image.complete)");
        expect(await page.evaluate("[...document.images].map((image) => image.naturalWidth)")).toEqual([1, 1]);
        expect(asked.filter((one) => !/^(file|data):/.test(one))).toEqual([]);
        expect(await page.title()).toContain("sample-film");
      });
    },
    longMs,
  );

  test(
    "tells of a step all that the dashboard does, offers nothing to do, and asks nobody",
    async () => {
      const url = await written(full(folder, "told"), folder);
      await looked(url, "light", async (page, asked) => {
        await page.getByRole("tab", { name: "Timeline" }).click();
        await page.getByText("attempt 1 failed, tried again").waitFor();
        await page.getByRole("button", { name: /^face/ }).click();
        const panel = page.getByRole("complementary", { name: "face" });
        for (const title of ["Input", "Links", "Provenance", "Attempts", "History"])
          await panel.getByRole("heading", { name: title }).waitFor();
        await page.getByRole("tab", { name: "About" }).click();
        await page.getByText("Harbour").waitFor();
        await page.goBack();
        await page.getByText("attempt 1 failed, tried again").waitFor();
        expect(await page.getByRole("button", { name: /Resume|Stop|Rerun|Review|Approve/ }).count()).toBe(0);
        expect(await page.getByRole("link", { name: /Runs|Download/ }).count()).toBe(0);
        expect(await page.title()).toContain("sample-film");
        expect(asked.filter((one) => !/^(file|data):/.test(one))).toEqual([]);
      });
    },
    longMs,
  );

  test(
    "its style is in force, and fits a phone without scrolling sideways",
    async () => {
      await looked(await written(full(folder, "phone"), folder), "light", async (page) => {
        expect(await page.evaluate("getComputedStyle(document.querySelector('.run-head')).display")).toBe("grid");
        await page.setViewportSize({ width: 360, height: 700 });
        expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
      });
    },
    longMs,
  );

  test(
    "prints on a few pages, also with a thousand steps",
    async () => {
      for (const [run, most] of [
        [full(folder, "print"), 5],
        [bigRun(), 6],
      ] as const) {
        await looked(await written(run, folder), "dark", async (page) => {
          const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
          const pages = pdf.match(/\/Type \/Page\b/g)?.length ?? 0;
          expect(pages).toBeGreaterThan(0);
          expect(pages).toBeLessThanOrEqual(most);
          await page.emulateMedia({ media: "print", colorScheme: "dark" });
          expect(await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")).toBe(
            "rgb(255, 255, 255)",
          );
        });
      }
    },
    longMs,
  );
});
