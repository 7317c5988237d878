import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { openDashboard, visit } from "./support/browse.ts";
import { eventually } from "./support/eventually.ts";

const ADS = 60;

const ad = pipeline("ad", {
  input: z.object({ product: z.string() }),
  title: ({ product }) => `Ad for ${product}`,
  build({ input, takes }) {
    const ask = { prompt: input.product, aspect_ratio: "1:1" } as const;
    return { look: takes("look", models.image, ask, { count: 2, choose: "person" }) };
  },
});

const { browser, served, run } = await openDashboard({ balance: 100, loadPipeline: async () => ad });

beforeAll(async () => {
  const started = async (_: unknown, n: number) => {
    const options = { id: `ad-${n}`, budget: "1", tags: { client: n % 2 === 0 ? "acme" : "north" } };
    expect((await run(ad, { product: `kettle ${n}` }, options)).pause?.reason).toBe("approval");
  };
  await Promise.all(Array.from({ length: ADS }, started));
});

test(`${ADS} waiting ads are decided by clicks and keys, one after the other, without a reload and with no choice lost`, async () => {
  await using seen = await visit(browser, served);
  const { page } = seen;
  await page.getByRole("link", { name: "Review", exact: true }).click();
  await page.getByText(`${ADS} decisions to make`).waitFor();
  const desk = page.getByRole("region", { name: "The decision" });
  for (const client of ["acme", "north"]) {
    await page.getByRole("combobox", { name: "Tag" }).selectOption(`client=${client}`);
    await page.getByText(`${ADS / 2} decisions to make`).waitFor();
    await eventually(() => page.locator(".queue [aria-current]").textContent()).toContain(`client=${client}`);
    const title = await page.locator(".queue [aria-current] b").textContent();
    await desk.getByRole("link", { name: `${title}, look/pick` }).waitFor();
  }
  await page.getByRole("combobox", { name: "Tag" }).selectOption("");
  await page.getByText(`${ADS} decisions to make`).waitFor();
  const began = Date.now();
  const chosen = new Map<string, number>();
  for (let left = ADS; left > 0; left -= 1) {
    const current = page.locator(".queue [aria-current] b");
    const title = (await current.textContent())!;
    await desk.getByRole("link", { name: `${title}, look/pick` }).waitFor();
    await eventually(() => desk.locator("h2:focus").count()).toBe(1);
    const take = left % 2;
    chosen.set(title, take);
    if (left % 3 === 0) {
      await page.keyboard.press(String(take + 1));
      await page.keyboard.press("a");
    } else {
      await desk.getByRole("radio").nth(take).click();
      await desk.getByRole("button", { name: `Approve take ${take + 1}` }).click();
    }
    const next = left === 1 ? "Nothing to decide" : left === 2 ? "1 decision to make" : `${left - 1} decisions to make`;
    await page.locator("aside").getByText(next, { exact: true }).waitFor();
  }
  process.stdout.write(`${ADS} ads decided in ${Math.round((Date.now() - began) / 1000)} s\n`);
  await eventually(async () => (await served.show.waiting()).length).toBe(0);
  const picked = async (n: number) => {
    const { title, steps } = await served.show.show(`ad-${n}`);
    return [title, steps.find(({ path }) => path === "look/pick")?.chosen?.step] as const;
  };
  await eventually(async () =>
    Object.fromEntries(await Promise.all(Array.from({ length: ADS }, (_, n) => picked(n)))),
  ).toEqual(Object.fromEntries([...chosen].map(([title, take]) => [title, `look/${take + 1}`])));
  expect(seen.complaints).toEqual([]);
  expect(served.defects).toEqual([]);
});
