import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { plainWav } from "../../../src/core/kit/placeholder-media.ts";
import { openDashboard, violations, visit } from "./support/browse.ts";
import { plantRun } from "./support/planted.ts";
import { linkTo, plantQuestion } from "./support/review-links.ts";

const { browser, served } = await openDashboard();
await plantQuestion(served, "spring-poster", "acme", [10, 40]);
await plantQuestion(served, "autumn-poster", "acme", [70, 100]);

const shot = async (page: Page, name: string) => {
  const folder = process.env["SCREENSHOTS"];
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
};

test.each(["light", "dark"] as const)(
  "a client opens a link on a phone, picks a take, is told so; all of it accessible (%s)",
  async (theme) => {
    const id = theme === "light" ? "spring-poster" : "autumn-poster";
    const { token, id: link } = await linkTo(served, { scope: { runId: id } });
    await using context = await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme: theme });
    const page = await context.newPage();
    const complaints: string[] = [];
    const asked: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${served.dashboard.origin}/shared#${token}`);
    await page.getByRole("heading", { name: "1 decision to make" }).waitFor();
    await page.locator(".shown img").nth(1).waitFor();
    expect(await violations(page)).toEqual([]);
    await shot(page, `link-${theme}`);
    await page.getByRole("radio", { name: "Take 2" }).check();
    await page.getByRole("button", { name: "Approve take 2" }).click();
    await page.getByRole("alert").filter({ hasText: "Enter your name first" }).waitFor();
    await page.getByLabel("Your name").fill("Ann Client");
    await page.getByLabel("Note or comment (optional)").fill("the warmer one");
    await page.getByRole("button", { name: "Approve take 2" }).click();
    await page.getByText(/Take 2 approved by Ann Client/).waitFor();
    await page.getByRole("heading", { name: "Nothing to decide" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await shot(page, `link-${theme}-done`);
    const by = { name: "Ann Client", verified: false, link };
    const message = { type: "approve", pick: 1, note: "the warmer one", by };
    expect(await served.journal.inbox(id)).toMatchObject([{ message }]);
    expect(complaints).toEqual([]);
    // The token goes along as a header, never in an address; nothing of the operator's is loaded.
    const secret = token.split(".")[1]!;
    const addresses = asked.map((url) => new URL(url)).map(({ pathname, search }) => pathname + search);
    expect(addresses.filter((one) => one.includes(secret) || !one.startsWith("/shared"))).toEqual([]);
    await served.journal.revokeReviewLink(link, Date.now());
    await page.reload();
    await page.getByRole("heading", { name: "This link cannot be opened" }).waitFor();
    await page.getByText("This link was revoked.").waitFor();
  },
);

test("a client comments at a time code of a sound, which stands on the page and in the house's journal", async () => {
  const sound = await served.media.put({ bytes: Buffer.from(plainWav(3000, 0)) });
  await plantRun(served.journal, {
    id: "jingle",
    steps: [
      { path: "tune", yields: "audio", outputs: [{ ...sound, contentType: "audio/wav" }] },
      { path: "fine", kind: "approve", needs: ["tune"], state: "asked", prompt: "Is the jingle fine?" },
    ],
  });
  const { token } = await linkTo(served, { scope: { runId: "jingle" } });
  await using context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  await page.goto(`${served.dashboard.origin}/shared#${token}`);
  await page.getByLabel("Your name").fill("Ann");
  const player = page.locator("audio");
  await player.evaluate((audio: { currentTime: number }) => {
    audio.currentTime = 1.25;
  });
  await page.getByLabel("Note or comment (optional)").fill("the bell is too loud");
  await page.getByRole("button", { name: "Comment only" }).click();
  await page.getByRole("list", { name: "Comments" }).getByText("the bell is too loud").waitFor();
  await page.getByText("Ann, take 1, at 1.3 s").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(await page.getByLabel("Note or comment (optional)").inputValue()).toBe("");
  const message = { type: "comment", step: "fine", comment: { timeMs: 1250, take: { step: "tune", index: 0 } } };
  expect(await served.journal.inbox("jingle")).toMatchObject([{ message }]);
  await shot(page, "comment");
});

test("the house makes a link in the dashboard, which opens for a client until it is revoked there", async () => {
  await using house = await visit(browser, served);
  await house.page.getByRole("button", { name: "Review links…" }).click();
  await house.page.getByLabel("Runs with this tag").fill("client=acme");
  expect(await violations(house.page)).toEqual([]);
  await shot(house.page, "house");
  await house.page.getByRole("button", { name: "Create link" }).click();
  const url = await house.page.getByLabel("Send this address to the client").inputValue();
  await house.page.getByRole("button", { name: "Done" }).click();
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole("heading", { name: "Which look for acme?" }).first().waitFor();
  await house.page.getByRole("button", { name: "Review links…" }).click();
  const listed = house.page.getByRole("list", { name: "Valid links" }).getByRole("listitem");
  const row = listed.filter({ hasText: "client=acme" });
  await row.first().waitFor();
  const others = (await row.count()) - 1;
  await row.first().getByRole("button", { name: "Revoke" }).click();
  await expect.poll(() => row.count()).toBe(others);
  await page.reload();
  await page.getByText("This link was revoked.").waitFor();
  expect(house.complaints).toEqual([]);
});

test("no other page can hold it in a frame", async () => {
  const { token } = await linkTo(served, { scope: { tags: { client: "acme" } } });
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.setContent(`<iframe src="${served.dashboard.origin}/shared#${token}"></iframe>`);
  await page.waitForLoadState("networkidle");
  const framed = page.frames().find((frame) => frame !== page.mainFrame());
  expect(framed?.url() ?? "").not.toContain("/shared");
});
