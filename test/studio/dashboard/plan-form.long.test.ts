import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { file, pipeline } from "../../../src/index.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { PIXEL } from "../../support/tiny-media.ts";
import { openDashboard, violations, visit } from "./support/browse.ts";
import { eventually } from "./support/eventually.ts";

const ad = pipeline("ad", {
  input: z.object({
    product: z.string().max(80).describe("What is sold"),
    seconds: z.int().min(3).max(8).default(3),
    ratio: z.enum(["16:9", "1:1"]).default("1:1"),
    lines: z.array(z.string()).default([]),
    photo: file("image").optional(),
    extra: z.record(z.string(), z.string()).default({}),
  }),
  build({ input, job, upload }) {
    const look = job("look", models.image, { prompt: input.product, aspect_ratio: input.ratio });
    const start_image = input.photo === undefined ? look : upload("photo", input.photo);
    const shot = { aspect_ratio: "16:9", resolution: "720p", duration_ms: 3000 } as const;
    return { video: job("video", models.video, { start_image, prompt: "it turns", ...shot }) };
  },
});

const pickedDir = newFolder();
const photo = join(newFolder(), "our tent.png");
writeFileSync(photo, PIXEL);
const pipelines = [{ name: "ad.ts", pipeline: ad, source: null }];
const { browser, served, seen, page } = await openDashboard({ pipelines, pickedDir });

const json = async () => JSON.parse(await page.getByLabel("Input, as JSON").inputValue()) as Record<string, unknown>;

/** The page answers with prices or says what is wrong. */
async function price(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Check and price" }).click();
  const prices = page.getByText("Prices by step");
  await prices.or(page.getByRole("alert")).waitFor();
  expect(await page.getByRole("alert").allTextContents()).toEqual([]);
}

describe("the form of a pipeline's input", () => {
  test("and its JSON are one: each shows what is entered in the other", async () => {
    await seen.go("/plan");
    const form = page.locator(".input-form");
    await form.getByLabel("product").fill("a copper kettle");
    await form.getByLabel("seconds").fill("5");
    await form.getByLabel("ratio").selectOption("16:9");
    await form.getByRole("button", { name: "Add to lines" }).click();
    await form.getByRole("textbox", { name: "lines 1" }).fill("Boils before sunrise");
    const entered = { product: "a copper kettle", seconds: 5, ratio: "16:9", lines: ["Boils before sunrise"] };
    expect(await json()).toMatchObject(entered);
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Input, as JSON").fill('{ "product": "a tent", "lines": ["a", "b"] }');
    expect(await form.getByLabel("product").inputValue()).toBe("a tent");
    await form.getByRole("button", { name: "Remove lines 1" }).click();
    expect(await json()).toEqual({ product: "a tent", lines: ["b"] });
    await form.getByLabel("extra").fill('{ "a": ');
    await form.getByText("This is not valid JSON").waitFor();
    expect(await json()).toEqual({ product: "a tent", lines: ["b"] });
    await form.getByLabel("extra").fill('{ "a": "x" }');
    expect(await json()).toEqual({ product: "a tent", lines: ["b"], extra: { a: "x" } });
    await page.getByLabel("Input, as JSON").fill('{ "product": ');
    await page.getByText("no form is shown").waitFor();
  });

  test("takes a file from the browser: its path goes into the input, and the plan reads it", async () => {
    await seen.go("/plan");
    await page.locator(".input-form").getByLabel("product").fill("a tent");
    await page.getByLabel("Choose a file for photo").setInputFiles(photo);
    await page.getByText("our tent.png,").waitFor();
    const path = String((await json()).photo);
    expect(path.startsWith(pickedDir)).toBe(true);
    expect(readFileSync(path).equals(readFileSync(photo))).toBe(true);
    await price(page);
    await page.getByLabel("Choose a file for photo").setInputFiles(photo);
    await eventually(async () => (await json()).photo).toBe(path);
  });

  const send = (query: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    page.request.post(`${served.dashboard.origin}/api/files?${query}`, {
      headers: { "content-type": "application/octet-stream", origin: served.dashboard.origin, ...headers },
      data: body,
    });

  test.each<readonly [string, string, number]>([
    ["a name that leads elsewhere keeps its last part", "name=..%2F..%2Fetc%2Fpasswd.png", 200],
    ["a hidden name", "name=.bashrc", 400],
    ["no name", "", 400],
    ["only dots", "name=..", 400],
  ])("%s", async (_name, query, status) => {
    const answer = await send(query, "x");
    expect(answer.status()).toBe(status);
    if (status === 200)
      expect(((await answer.json()) as { path: string }).path).toMatch(/[/\\][0-9a-f]{64}[/\\]passwd\.png$/);
    expect(readdirSync(pickedDir).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  test("nothing but bytes, not empty, from the page itself", async () => {
    expect((await send("name=a.png", "{}", { "content-type": "application/json" })).status()).toBe(415);
    expect((await send("name=a.png", "")).status()).toBe(400);
    expect((await send("name=a.png", "x", { origin: "http://elsewhere.test" })).status()).toBe(403);
  });
});

/** Holds the next request of the page to this address until it is released. */
async function held(address: string) {
  const reached = Promise.withResolvers<Route>();
  await page.route(address, (route) => reached.resolve(route), { times: 1 });
  return { release: async () => (await reached.promise).continue(), reached: reached.promise };
}

/** In the page: types into the first field as soon as it is there. */
const typesAtOnce = `new MutationObserver((_, observer) => {
  const field = document.querySelector(".input-form textarea");
  if (field === null) return;
  observer.disconnect();
  field.value = "a tent";
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}).observe(document, { subtree: true, childList: true });`;

describe("nothing that is entered is lost", () => {
  test("in the moment in which the form appears", async () => {
    await using other = await visit(browser, served);
    await other.page.addInitScript({ content: typesAtOnce });
    await other.go("/plan");
    await price(other.page);
    expect(await other.page.locator(".input-form").getByLabel("product").inputValue()).toBe("a tent");
  });

  test("while a file is copied", async () => {
    await seen.go("/plan");
    const copy = await held("**/api/files?*");
    await page.getByLabel("Choose a file for photo").setInputFiles(photo);
    await copy.reached;
    await page.locator(".input-form").getByLabel("product").fill("a tent");
    await copy.release();
    await page.getByText("our tent.png,").waitFor();
    expect(await json()).toMatchObject({ product: "a tent", photo: expect.stringContaining(pickedDir) });
  });

  test("and a plan of what was entered before is not shown", async () => {
    await seen.go("/plan");
    const product = page.locator(".input-form").getByLabel("product");
    await product.fill("a tent");
    const first = await held("**/api/plan");
    const answered = page.waitForResponse("**/api/plan");
    await page.getByRole("button", { name: "Check and price" }).click();
    await first.reached;
    await product.fill("a kettle");
    await first.release();
    await (await answered).finished();
    await price(page);
    await product.fill("a lamp");
    expect(await page.getByText("Prices by step").count()).toBe(0);
  });
});

test("nothing of this was stopped by the security policy, threw, or surprised the server", () => {
  expect(seen.complaints.filter((text) => !/40[0-9]|415/.test(text))).toEqual([]);
  expect(served.defects).toEqual([]);
});
