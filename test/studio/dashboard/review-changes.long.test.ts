import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { openDashboard, violations } from "./support/browse.ts";
import { eventually } from "./support/eventually.ts";

/** A picture that a note changes, one that no note changes, and a list of shots that is read. */
const poster = pipeline("poster", {
  input: z.object({}),
  build({ job, task, approve }) {
    const ask = { prompt: "a lighthouse", aspect_ratio: "1:1" } as const;
    const still = job("still", models.image, ask, { revise: ({ prompt }, note) => ({ prompt: `${prompt}, ${note}` }) });
    const card = job("card", models.image, { prompt: "a card", images: [still] });
    const plain = job("plain", models.image, { prompt: "a pier", aspect_ratio: "1:1" });
    const shots = task("shots", {}, () => [
      { line: "A boat leaves.", seconds: 4 },
      { line: "It comes back.", seconds: 6 },
      { line: "A storm rises. ".repeat(200).trimEnd(), seconds: 9 },
    ]);
    const read = approve("read", shots, { message: "Are these the shots?" });
    const told = task("told", { read }, ({ read }) => read.map(({ line }) => line).join(" "));
    return { fine: approve("fine", still), also: approve("also", plain), told, card };
  },
});

const gate = Promise.withResolvers<string>();
/** Asks while something else of it is still being made. */
const gated = pipeline("gated", {
  input: z.object({}),
  build({ job, task, approve }) {
    const still = job("still", models.image, { prompt: "a quay", aspect_ratio: "1:1" });
    return { fine: approve("fine", still), slow: task("slow", {}, () => gate.promise) };
  },
});

const { served, seen, page, run } = await openDashboard({
  balance: 5,
  loadPipeline: async ({ file }) => (file === "/nowhere/gated.ts" ? gated : poster),
});

beforeAll(async () => {
  const source = { file: "/nowhere/poster.ts", exportName: "default" };
  expect((await run(poster, {}, { id: "p", budget: "1", source })).pause?.reason).toBe("approval");
});

const desk = () => page.getByRole("region", { name: "The decision" });
const dialog = () => page.getByRole("dialog");
/** Pictures that are not there, or have no size yet. */
const broken = (page: Page) =>
  page.locator("img").evaluateAll((images) =>
    images.flatMap((one) => {
      const { src, naturalWidth } = one as unknown as { src: string; naturalWidth: number };
      return naturalWidth > 0 ? [] : [src];
    }),
  );
const stepOf = async (path: string) => (await served.show.show("p")).steps.find((step) => step.path === path)!;

async function open(step: string): Promise<void> {
  await seen.go(`/review?run=p&at=p%2F${step}`);
  const link = desk().getByRole("link", { name: `p, ${step}` });
  await link.waitFor();
}

test("a note makes a picture again as its code says: shown, priced, asked for anew, and in the history", async () => {
  await open("fine");
  const redo = desk().getByRole("button", { name: "Redo with note…" });
  expect(await redo.isDisabled()).toBe(true);
  await page.keyboard.press("m");
  await page.keyboard.type("at dusk");
  await redo.click();
  await dialog().getByText("a lighthouse, at dusk").waitFor();
  await dialog().getByText("3 steps to run").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog().getByLabel("What to change").fill("at dawn");
  await dialog().getByText("a lighthouse, at dawn").waitFor();
  const rerun = dialog().getByRole("button", { name: "Rerun", exact: true });
  await eventually(() => rerun.isEnabled()).toBe(true);
  await rerun.click();
  await dialog().waitFor({ state: "detached" });
  await eventually(async () => (await stepOf("still")).attempts.length).toBe(2);
  await eventually(async () => (await stepOf("fine")).status).toBe("awaiting-approval");
  await open("fine");
  // What was made before stands beside it, and can be put away.
  await desk().getByText("still, earlier attempt 1").waitFor();
  await eventually(() => broken(page)).toEqual([]);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("e");
  await desk().getByText("still, earlier attempt 1").waitFor({ state: "detached" });
  await desk().getByRole("button", { name: "Approve" }).click();
  await page.locator("aside").getByText("2 decisions to make").waitFor();
  await eventually(async () => (await stepOf("fine")).status).toBe("succeeded");
  await seen.go("/runs/p/log");
  await page.getByPlaceholder("Search these events").fill("edited");
  await page.getByText("edited still prompt: at dawn").first().waitFor();
});

test("a step shows what was made of it before, and the media of its input as pictures", async () => {
  await seen.go("/runs/p?step=still");
  await page.locator(".section", { hasText: "Attempts" }).getByText("earlier attempt 1").waitFor();
  await seen.go("/runs/p?step=card");
  const used = page.locator(".section", { hasText: "Input" }).locator(".used img");
  await used.waitFor();
  await eventually(() => broken(page)).toEqual([]);
  expect(await violations(page)).toEqual([]);
  await used.click();
  await page.getByRole("heading", { name: "still", exact: true }).waitFor();
});

test("where no code says what a note changes, that is said, and the same is made again with the note", async () => {
  await open("also");
  await desk().getByPlaceholder("Note (optional)").fill("without the gull");
  await desk().getByRole("button", { name: "Redo with note…" }).click();
  await dialog().getByText("to apply a note").waitFor();
  await dialog().getByText("2 steps to run").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Rerun", exact: true }).click();
  await eventually(async () => (await stepOf("plain")).attempts.length).toBe(2);
  await seen.go("/runs/p/log");
  await page.getByText("rerun requested: plain: without the gull").first().waitFor();
});

test("a list of shots is changed before it is approved; what uses it gets the changed one", async () => {
  await open("read");
  // As fields, and whole: nothing of it is hidden in a place that scrolls by itself.
  const definition = desk().getByRole("definition");
  const told = definition.getByText(/^A storm rises/);
  await told.waitFor();
  expect(await told.evaluate((field) => field.scrollHeight - field.clientHeight)).toBe(0);
  await desk().getByRole("button", { name: "Edit…" }).click();
  const first = desk().getByRole("textbox", { name: "line" }).first();
  await first.fill("A red boat leaves.");
  expect(await violations(page)).toEqual([]);
  // Kept when the page is left.
  await page.reload();
  await eventually(() => desk().getByRole("textbox", { name: "line" }).first().inputValue()).toBe("A red boat leaves.");
  await desk().getByRole("button", { name: "Discard changes" }).click();
  await desk().getByText("A boat leaves.").waitFor();
  await desk().getByRole("button", { name: "Edit…" }).click();
  await desk().getByRole("textbox", { name: "line" }).nth(1).fill("It never comes back.");
  await desk().getByRole("button", { name: "Remove shots 3" }).click();
  await desk().getByRole("button", { name: "Remove shots 1" }).click();
  await desk().getByRole("button", { name: "Approve with changes" }).click();
  await page.locator("aside").getByText("1 decision to make").waitFor();
  await eventually(async () => (await stepOf("told")).value).toBe("It never comes back.");
  expect(seen.complaints).toEqual([]);
  expect(served.defects).toEqual([]);
});

test("what does not fit is refused with the reason, and stays to be decided", async () => {
  await open("also");
  await page.route("**/api/runs/p/approve", (route) => {
    return route.fulfill({ status: 409, json: { error: { code: "CONFLICT", message: "it does not fit" } } });
  });
  await desk().getByRole("button", { name: "Approve" }).click();
  await page.getByRole("alert").first().waitFor();
  expect(await page.getByRole("alert").allInnerTexts()).toEqual([expect.stringContaining("it does not fit")]);
  await page.unroute("**/api/runs/p/approve");
  const answer = await page.evaluate(async () => {
    const body = JSON.stringify({ step: "also", value: "a text" });
    const headers = { "content-type": "application/json" };
    const response = await fetch("/api/runs/p/approve", { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  });
  expect(answer.status).toBe(409);
  expect(answer.text).toContain("in also: only a single value can be edited");
});

test("a decision that was made while its run was driven resumes it, where it has paused when the decision arrives", async () => {
  const source = { file: "/nowhere/gated.ts", exportName: "default" };
  const running = await served.show.run(gated, {}, { id: "q", budget: "1", outDir: newFolder(), source });
  await page.route("**/api/runs/q/approve", async (route) => {
    gate.resolve("made");
    expect((await running.result()).pause?.reason).toBe("approval");
    await route.continue();
  });
  await seen.go("/review?run=q&at=q%2Ffine");
  await desk().getByRole("button", { name: "Approve" }).click();
  await eventually(async () => (await served.show.show("q")).status).toBe("succeeded");
  await page.unroute("**/api/runs/q/approve");
});

test("every screen that the header leads to is answered when it is loaded anew", async () => {
  await seen.go("/");
  const links = await page.locator("header a[href^='/']").all();
  expect(links.length).toBeGreaterThan(3);
  for (const link of links) {
    const href = (await link.getAttribute("href"))!;
    expect(await page.evaluate(async (path) => (await fetch(path)).status, href), href).toBe(200);
  }
});
