import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBrowser } from "../../demo/support/browser.ts";
import { violations, visit } from "./support/browse.ts";
import { plantRun } from "./support/planted.ts";
import { linkTo, plantQuestion } from "./support/review-links.ts";
import { type Served, serveDashboard } from "./support/serve.ts";

let served: Served;
let browser: Browser;

beforeAll(async () => {
  served = await serveDashboard();
  await plantQuestion(served, "spring-poster", "acme", [10, 40]);
  await plantQuestion(served, "autumn-poster", "acme", [70, 100]);
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await served?.[Symbol.asyncDispose]();
});

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
    if (process.env["SCREENSHOTS"])
      await page.screenshot({ path: `${process.env["SCREENSHOTS"]}/link-${theme}.png`, fullPage: true });
    await page.getByRole("radio", { name: "Take 2" }).check();
    await page.getByRole("button", { name: "Approve take 2" }).click();
    await page.getByRole("alert").filter({ hasText: "Enter your name first" }).waitFor();
    await page.getByLabel("Your name").fill("Ann Client");
    await page.getByLabel("Note or comment (optional)").fill("the warmer one");
    await page.getByRole("button", { name: "Approve take 2" }).click();
    await page.getByText(/Take 2 approved by Ann Client/).waitFor();
    await page.getByRole("heading", { name: "Nothing to decide" }).waitFor();
    expect(await violations(page)).toEqual([]);
    if (process.env["SCREENSHOTS"])
      await page.screenshot({ path: `${process.env["SCREENSHOTS"]}/link-${theme}-done.png`, fullPage: true });
    const by = { name: "Ann Client", verified: false, link };
    expect((await served.journal.inbox(id)).map(({ message }) => message)).toMatchObject([
      { type: "approve", pick: 1, note: "the warmer one", by },
    ]);
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
  const sound = await served.media.put({ bytes: silence(3) });
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
  expect((await served.journal.inbox("jingle")).map(({ message }) => message)).toMatchObject([
    { type: "comment", step: "fine", comment: { timeMs: 1250, take: { step: "tune", index: 0 } } },
  ]);
  if (process.env["SCREENSHOTS"])
    await page.screenshot({ path: `${process.env["SCREENSHOTS"]}/comment.png`, fullPage: true });
});

/** A wave file without a sound, of so many seconds. */
function silence(seconds: number): Buffer {
  const rate = 8000;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + rate * seconds, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(rate * seconds, 40);
  return Buffer.concat([head, Buffer.alloc(rate * seconds, 128)]);
}

test("the house makes a link in the dashboard, which opens for a client until it is revoked there", async () => {
  await using house = await visit(browser, served);
  await house.page.getByRole("button", { name: "Review links…" }).click();
  await house.page.getByLabel("Runs with this tag").fill("client=acme");
  expect(await violations(house.page)).toEqual([]);
  if (process.env["SCREENSHOTS"]) await house.page.screenshot({ path: `${process.env["SCREENSHOTS"]}/house.png` });
  await house.page.getByRole("button", { name: "Create link" }).click();
  const url = await house.page.getByLabel("Send this address to the client").inputValue();
  await house.page.getByRole("button", { name: "Done" }).click();
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole("heading", { name: "Which look for acme?" }).first().waitFor();
  await house.page.getByRole("button", { name: "Review links…" }).click();
  const row = house.page
    .getByRole("list", { name: "Valid links" })
    .getByRole("listitem")
    .filter({ hasText: "client=acme" });
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
