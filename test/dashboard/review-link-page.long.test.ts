import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBrowser } from "../demo/support/browser.ts";
import { violations } from "./support/browse.ts";
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
    await page.getByLabel("Note (optional)").fill("the warmer one");
    await page.getByRole("button", { name: "Approve take 2" }).click();
    await page.getByText(/Take 2 approved by Ann Client/).waitFor();
    await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
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
    await page.getByText("This link was withdrawn.").waitFor();
  },
);

test("no other page can hold it in a frame", async () => {
  const { token } = await linkTo(served, { scope: { tags: { client: "acme" } } });
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.setContent(`<iframe src="${served.dashboard.origin}/shared#${token}"></iframe>`);
  await page.waitForLoadState("networkidle");
  const framed = page.frames().find((frame) => frame !== page.mainFrame());
  expect(framed?.url() ?? "").not.toContain("/shared");
});
