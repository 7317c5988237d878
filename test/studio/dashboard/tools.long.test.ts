import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { openDashboard, violations } from "./support/browse.ts";
import { eventually } from "./support/eventually.ts";

const ad = pipeline("ad", {
  input: z.object({
    product: z.string().max(80).describe("What is sold"),
    ratio: z.enum(["16:9", "1:1"]).default("1:1"),
    lines: z.array(z.string()).default([]),
  }),
  build({ input, job, takes, approve }) {
    const ask = { prompt: input.product, aspect_ratio: input.ratio };
    const look = takes("look", models.image, ask, { count: 3, choose: "person" });
    const stills = input.lines.map((line, n) => {
      const still = job(`still-${n + 1}`, models.image, { prompt: line, aspect_ratio: "1:1" });
      return approve(`check-${n + 1}`, still, { message: `Is line ${n + 1} right?` });
    });
    const shot = { aspect_ratio: "16:9", resolution: "720p", duration_ms: 3000 } as const;
    const video = job("video", models.video, { start_image: look, prompt: "it turns", ...shot });
    return { look, video, stills };
  },
});

const pipelines = [{ name: "ad.ts", pipeline: ad, source: null }];
const { service, served, seen, page, run } = await openDashboard({ balance: 50, pipelines });

async function waiting(id: string, lines: readonly string[]): Promise<void> {
  const options = { id, budget: "5", tags: { team: "film", "batch-of": "spots" } };
  expect((await run(ad, { product: "a kettle", lines }, options)).pause?.reason).toBe("approval");
}

describe("a review", () => {
  test("compares takes side by side; keys pick and approve", async () => {
    await waiting("by-keys", []);
    await seen.go("/runs/by-keys");
    await page.getByRole("link", { name: "Review", exact: true }).last().click();
    const desk = page.getByRole("region", { name: "The decision" });
    await eventually(() => desk.getByRole("radio").count()).toBe(3);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("a");
    await page.keyboard.press("3");
    await desk.getByRole("button", { name: "Approve take 3" }).waitFor();
    await desk.getByRole("button", { name: "Take 2, enlarge" }).click();
    await page.getByRole("dialog", { name: "Take 2" }).getByText("2 of 3").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("dialog", { name: "Take 3" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("d");
    const differences = page.getByRole("list", { name: "Input differences" });
    await eventually(() => differences.getByText("seed", { exact: true }).count()).toBe(3);
    expect(await differences.getByText("prompt").count()).toBe(0);
    await page.keyboard.press("a");
    await page.getByText("Take 3 approved.").waitFor();
    await page.getByRole("heading", { name: "No decisions waiting" }).waitFor();
    await page.keyboard.press("u");
    await desk.getByRole("button", { name: "Approve take 3" }).waitFor();
    expect((await served.journal.inbox("by-keys")).length).toBe(0);
    await page.keyboard.press("a");
    await page.getByText("Take 3 approved.").waitFor();
    await seen.go("/runs/by-keys");
    await page.locator(".title .pill", { hasText: "succeeded" }).waitFor();
    const picked = (await served.show.show("by-keys")).steps.find(({ path }) => path === "look/pick");
    expect(picked?.chosen).toMatchObject({ step: "look/3" });
  });

  test("hears a key as soon as the button that it stands for is there", async () => {
    await waiting("at-once", []);
    await seen.go("/runs/at-once");
    await page.evaluate(`new MutationObserver((_, observer) => {
      if (![...document.querySelectorAll("button")].some((one) => one.textContent === "Pick a take")) return;
      observer.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "3", bubbles: true }));
    }).observe(document, { childList: true, subtree: true })`);
    await page.getByRole("link", { name: "Review", exact: true }).last().click();
    await page.getByRole("button", { name: "Approve take 3" }).waitFor();
  });

  test("goes from decision to decision; all that only need a yes are approved at once", async () => {
    await waiting("many-checks", ["one", "two"]);
    await seen.go("/runs/many-checks");
    await page.getByText("3 decisions to make").waitFor();
    await page.getByRole("link", { name: "Review", exact: true }).last().click();
    const desk = page.getByRole("region", { name: "The decision" });
    const titles = new Set<string>();
    for (const index of [0, 1, 2]) {
      await page.locator(`.queue li:nth-child(${index + 1}) [aria-current]`).waitFor();
      // With the focus it listens to keys.
      await eventually(() => desk.locator("h2:focus").count()).toBe(1);
      titles.add((await desk.getByRole("heading").textContent()) ?? "");
      await page.keyboard.press("ArrowRight");
    }
    expect(titles).toEqual(new Set(["look/pick", "Is line 1 right?", "Is line 2 right?"]));
    await page.getByRole("button", { name: "Approve all…" }).click();
    await page.getByRole("dialog").getByText("check-2").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Approve all", exact: true }).click();
    await page.getByText("1 decision to make").waitFor();
  });

  test("keeps what was chosen and written over a reload, and shows a decision made elsewhere where it stood", async () => {
    await waiting("elsewhere", ["one"]);
    await seen.go("/review?run=elsewhere&at=elsewhere%2Flook%2Fpick");
    const desk = page.getByRole("region", { name: "The decision" });
    await eventually(() => desk.getByRole("radio").count()).toBe(3);
    await eventually(() => desk.locator("h2:focus").count()).toBe(1);
    await page.keyboard.press("2");
    await desk.getByPlaceholder("Note (optional)").fill("warmer");
    await desk.getByPlaceholder(/^Add a comment/).fill("the handle is cut off");
    await desk.getByRole("combobox").selectOption("About take 2");
    await desk.getByRole("button", { name: "Comment", exact: true }).click();
    await desk.getByRole("list", { name: "Comments" }).getByText("the handle is cut off").waitFor();
    await page.reload();
    await desk.getByRole("button", { name: "Approve take 2" }).waitFor();
    await desk.getByRole("list", { name: "Comments" }).getByText("the handle is cut off").waitFor();
    expect(await desk.getByPlaceholder("Note (optional)").inputValue()).toBe("warmer");
    const comment = { text: "the handle is cut off", take: { step: "look/2", index: 0 } };
    const message = { type: "comment", step: "look/pick", comment };
    expect(await served.journal.inbox("elsewhere")).toMatchObject([{ message }]);
    await served.show.reject("elsewhere", "look/pick", { note: "by the client" });
    await (await served.show.resume("elsewhere", { pipeline: ad })).result();
    await desk.getByText("Already rejected: by the client").waitFor();
    await page.keyboard.press("ArrowRight");
    await desk.locator("h2:focus", { hasText: "Is line 1 right?" }).waitFor();
    await page.keyboard.press("r");
    await desk.getByRole("button", { name: "Reject for good" }).click();
    await page.getByRole("heading", { name: "No decisions waiting" }).waitFor();
    expect(await violations(page)).toEqual([]);
  });
});

describe("costs", () => {
  test("of a run are charted charge by charge, and by model", async () => {
    await seen.go("/runs/by-keys/costs");
    await page.getByText("Total spent, charge by charge").waitFor();
    expect(await page.getByRole("img", { name: /^Total spent, charge by charge/ }).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
  });

  test("of all runs are summed by day, pipeline, tag and model, and agree with the service", async () => {
    await seen.go("/costs");
    await page.getByText("By pipeline").waitFor();
    await page.getByRole("rowheader", { name: "team=film" }).waitFor();
    expect(await page.getByText("batch-of=").count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    const { days } = (await (await page.request.get(`${served.dashboard.origin}/api/costs?days=7`)).json()) as {
      days: readonly number[];
    };
    const { charged_micros, refunded_micros } = service.stats();
    expect(days.reduce((sum, one) => sum + one, 0)).toBe(charged_micros - refunded_micros);
    const wrong = await page.request.get(`${served.dashboard.origin}/api/costs?days=0`);
    expect(wrong.status()).toBe(400);
  });
});

/** Names of an archive's files, by its central directory. */
function namesIn(zip: Buffer): readonly string[] {
  const names: string[] = [];
  for (let at = zip.indexOf("PK\u0001\u0002"); at >= 0; at = zip.indexOf("PK\u0001\u0002", at + 1)) {
    names.push(zip.toString("utf8", at + 46, at + 46 + zip.readUInt16LE(at + 28)));
  }
  return names;
}

test("all results come as one archive, under their names", async () => {
  await seen.go("/runs/by-keys/results");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download all" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("by-keys.zip");
  const bytes = readFileSync((await download.path())!);
  const names = namesIn(bytes);
  expect(names.toSorted()).toEqual(["intermediate/look/1-1.png", "intermediate/look/2-1.png", "look.png", "video.mp4"]);
});

test("nothing of this was stopped by the security policy, threw, or surprised the server", () => {
  expect(seen.complaints.filter((text) => !/40[0-9]|415/.test(text))).toEqual([]);
  expect(served.defects).toEqual([]);
});
