import { describe, expect, test } from "vitest";
import { words } from "../../support/word-list.ts";
import { ask as askOf, cookieOf } from "./support/ask.ts";
import { openDashboard, violations } from "./support/browse.ts";
import { plantHarbour } from "./support/harbour.ts";
import { serveDashboard, TOKEN } from "./support/serve.ts";

const viewerToken = "a-token-for-looking-only";
const { browser, served } = await openDashboard({ viewerToken, allowHosts: ["studio.test"] });
await plantHarbour(served);

/** Asks with what the address gives, and posts from the dashboard's own origin. */
async function ask(url: string, path: string, post: string | null = null) {
  const { origin, host } = new URL(url);
  const headers = { Host: host, Cookie: await cookieOf(url) };
  if (post === null) return askOf(origin, { path, headers });
  const own = { ...headers, Origin: origin, "Content-Type": "application/json" };
  return askOf(origin, { method: "POST", path, headers: own, body: post });
}

/** Every route that changes something, as the server knows them. */
const actions = words(`
  /api/runs/harbour-42/stop /api/runs/harbour-42/resume /api/runs/harbour-42/approve /api/runs/harbour-42/reject
  /api/runs/harbour-42/adopt /api/runs/harbour-42/comment /api/plan /api/runs /api/review-links
  /api/review-links/revoke
`);

describe("a viewer", () => {
  test("reads everything and is refused every action by the server", async () => {
    const url = served.dashboard.viewerUrl!;
    for (const path of ["/api/runs", "/api/runs/harbour-42", "/api/gauges", "/api/costs"]) {
      expect([path, (await ask(url, path)).status]).toEqual([path, 200]);
    }
    for (const path of actions) {
      const answer = await ask(url, path, '{"step":"choose"}');
      expect([path, answer.status, String(answer.body)]).toEqual([path, 403, expect.stringContaining("READ_ONLY")]);
    }
    expect(await served.journal.inbox("harbour-42")).toEqual([]);
    const visitor = await ask(url, "/api/visitor");
    expect(JSON.parse(String(visitor.body))).toEqual({ role: "viewer", launcher: "showrunner" });
  });

  test("is offered no action, and told so", async () => {
    const page = await browser.newPage();
    await page.goto(served.dashboard.viewerUrl!);
    await page.getByText("read-only").waitFor();
    await page.goto(`${served.dashboard.origin}/runs/harbour-42?step=choose`);
    await page.getByText("Which one begins the film?").waitFor();
    for (const name of ["Review", "Stop…", "Resume…", "Approve", "Reject…", "Rerun…"]) {
      expect([name, await page.getByRole("button", { name, exact: true }).count()]).toEqual([name, 0]);
    }
    expect(await violations(page)).toEqual([]);
    await page.goto(`${served.dashboard.origin}/review?run=harbour-42`);
    const desk = page.getByRole("region", { name: "The decision" });
    await desk.getByText("Which one begins the film?").waitFor();
    await page.keyboard.press("1");
    expect(await desk.getByRole("radio").count()).toBe(0);
    for (const name of ["Approve", "Reject…", "Comment", "Approve all…"]) {
      expect([name, await page.getByRole("button", { name, exact: true }).count()]).toEqual([name, 0]);
    }
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  test("who opens the other address may act from then on", async () => {
    expect((await ask(served.dashboard.url, "/api/plan", "{}")).status).not.toBe(403);
  });
});

test("the locked page takes the token, and no wrong one", async () => {
  const page = await browser.newPage();
  await page.goto(served.dashboard.origin);
  expect(await violations(page)).toEqual([]);
  expect(await page.getByRole("alert").count()).toBe(0);
  await page.getByLabel("Token").fill("wrong-wrong-wrong-wrong");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "This dashboard is locked" }).waitFor();
  await page.getByRole("alert").getByText("This token is not valid").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByLabel("Token").fill(TOKEN);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.context().close();
});

test("tokens that are short or the same are refused at the start", async () => {
  await expect(serveDashboard({ viewerToken: "short" })).rejects.toThrow("viewerToken");
  await expect(serveDashboard({ viewerToken: TOKEN })).rejects.toThrow("viewerToken");
});
