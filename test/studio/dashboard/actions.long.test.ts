import { spawn } from "node:child_process";
import type { Route } from "playwright-core";
import { pipeline } from "showrunner";
import { startLocalService } from "showrunner-local";
import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { isHolderDead, thisHolder } from "../../../src/core/journal/host.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { Pipeline } from "../../../src/index.ts";
import { MockProvider } from "../../support/mock-models.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { openDashboard, violations, visit } from "./support/browse.ts";
import { eventually } from "./support/eventually.ts";
import { plantRun } from "./support/planted.ts";
import { serveDashboard } from "./support/serve.ts";

const fox = (prompt: string) =>
  pipeline("fox", {
    input: z.object({ look: z.string().default("a fox") }),
    build({ input, takes, job }) {
      const ask = { prompt: input.look, aspect_ratio: "1:1" } as const;
      const message = "Which fox shall be filmed?";
      const look = takes("look", models.image, ask, { count: 3, choose: "person", message });
      const poster = job("poster", models.image, { prompt, aspect_ratio: "16:9" });
      return { look, poster };
    },
  });

const plain = pipeline("plain", {
  input: z.object({}),
  build({ job }) {
    return { still: job("still", models.image, { prompt: "a lighthouse", aspect_ratio: "1:1" }) };
  },
});

/** What a run's file holds now. */
let code: Pipeline | null = null;
const source = { file: "/nowhere/fox.ts", exportName: "default" };
const { browser, service, served, seen, page, run } = await openDashboard({
  balance: 5,
  pipelines: [
    { name: "fox.ts", pipeline: fox("a poster"), source },
    { name: "plain.ts", pipeline: plain, source: null },
  ],
  loadPipeline: async () => code,
});

const pill = (text: string) => page.locator(".title .pill", { hasText: text }).waitFor();
const dialog = () => page.getByRole("dialog");

/** Keeps the answer to the next request of this address until it is released. */
async function heldAnswer(address: string) {
  const asked = Promise.withResolvers<Route>();
  await page.route(address, (route) => asked.resolve(route), { times: 1 });
  // The page may have given it up by then.
  const release = async () => (await asked.promise).continue().catch(() => {});
  return { asked: asked.promise, release };
}

/** A fox that waits for somebody to choose. */
async function waitingFox(id: string): Promise<void> {
  expect((await run(fox("a poster"), { look: "a red fox" }, { id, source })).pause?.reason).toBe("approval");
}

/** Opens the dialog to run a step again, which says so once it is gone. */
async function rerunning() {
  await page.getByRole("button", { name: "Rerun…" }).click();
  await dialog().getByText("1 step to run").waitFor();
  return dialog().getByRole("button", { name: "Rerun", exact: true });
}

test("a pipeline is planned with its prices, mended, and started; a take is picked and the run goes on", async () => {
  await seen.go("/plan");
  await page.getByLabel("Input, as JSON").fill('{ "look": 5 }');
  await page.getByRole("button", { name: "Check and price" }).click();
  await page.getByText("1 problem to fix first").waitFor();
  await page.getByLabel("Input, as JSON").fill('{ "look": "a red fox" }');
  await page.getByRole("button", { name: "Check and price" }).click();
  await page.getByText("Prices by step").waitFor();
  await page.getByRole("button", { name: /look\/2/ }).click();
  await page.locator("tr.chosen", { hasText: "look/2" }).getByText("a red fox").waitFor();
  await page.locator(".arrows .near").first().waitFor({ state: "attached" });
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Start…" }).click();
  await dialog().getByLabel("Name of the run").fill("from-page");
  expect(await violations(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "from-page" }).waitFor();
  await pill("needs approval");
  await page.getByRole("button", { name: "look/pick", exact: true }).first().click();
  const decision = page.getByRole("region", { name: "Decision" });
  await decision.getByText("Which fox shall be filmed?").waitFor();
  await eventually(() => decision.getByRole("radio").count()).toBe(3);
  expect(await decision.getByRole("button", { name: "Pick a take" }).isDisabled()).toBe(true);
  await decision.getByRole("radio").nth(1).check();
  await decision.getByRole("button", { name: "Approve take 2" }).click();
  await pill("succeeded");
  await decision.getByText("Take 2 chosen").waitFor();
  expect((await served.show.show("from-page")).status).toBe("succeeded");
});

test("a rejection is noted with its reason, and the run ends without what needed it", async () => {
  await waitingFox("rejected");
  await seen.go("/runs/rejected?step=look%2Fpick");
  const decision = page.getByRole("region", { name: "Decision" });
  await decision.getByLabel("Note (optional)").fill("all too <b>orange</b>");
  await decision.getByRole("button", { name: "Reject…" }).click();
  await decision.getByRole("button", { name: "Cancel" }).click();
  await decision.getByRole("button", { name: "Reject…" }).click();
  expect(await violations(page)).toEqual([]);
  await decision.getByRole("button", { name: "Reject for good" }).click();
  await decision.getByText("Rejected: all too <b>orange</b>").waitFor();
  await pill("partial");
});

test("a decision can be made without going on; the run stays parked until it is resumed", async () => {
  await waitingFox("later");
  await seen.go("/runs/later?step=look%2Fpick");
  const decision = page.getByRole("region", { name: "Decision" });
  await decision.getByRole("checkbox").uncheck();
  await decision.getByRole("radio").first().check();
  await decision.getByRole("button", { name: "Approve take 1" }).click();
  await decision.getByText("Take 1 approved.").waitFor();
  await decision.getByRole("button", { name: "Undo" }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect((await served.journal.run("later"))?.status).toBe("paused");
  await page.getByRole("button", { name: "Resume…" }).click();
  await dialog().getByRole("button", { name: "Resume", exact: true }).click();
  await pill("succeeded");
});

test("a run whose code changed says what, and what taking it up costs; nothing is rerun unless that is chosen", async () => {
  await waitingFox("drifted");
  code = fox("a poster in red");
  await seen.go("/runs/drifted");
  await page.getByRole("button", { name: "Resume…" }).click();
  await dialog().getByText("poster: input.prompt").waitFor();
  expect(await dialog().getByText("on top of").count()).toBe(0);
  await dialog().getByLabel("Apply the changes").check();
  await dialog().getByText("on top of").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Resume", exact: true }).click();
  await dialog().waitFor({ state: "detached" });
  const posters = async () => (await served.show.show("drifted")).steps.filter(({ path }) => path === "poster");
  await eventually(async () => (await posters())[0]?.attempts.length).toBe(2);
  code = null;
});

test("a step is rerun after its price was shown", async () => {
  await run(plain, {}, { id: "again" });
  const before = (await served.show.show("again")).cost;
  await seen.go("/runs/again?step=still");
  await (await rerunning()).click();
  await dialog().waitFor({ state: "detached" });
  await pill("succeeded");
  await eventually(async () => Number((await served.show.show("again")).cost)).toBe(2 * Number(before));
});

test("a yes to a price that is no longer the price is refused with the new quote, and the next yes is to that", async () => {
  await run(plain, {}, { id: "twice" });
  await seen.go("/runs/twice?step=still");
  const rerun = await rerunning();
  await eventually(() => rerun.isEnabled()).toBe(true);
  await (await served.show.resume("twice", { rerun: ["still"] })).result();
  await rerun.click();
  await dialog().getByText("Current quote").waitFor();
  await eventually(() => rerun.isEnabled()).toBe(true);
  await rerun.click();
  await dialog().waitFor({ state: "detached" });
  await eventually(async () => (await served.show.show("twice")).steps[0]?.attempts.length).toBe(3);
  await pill("succeeded");
});

test("a price that could not be had is asked for again on a click", async () => {
  await run(plain, {}, { id: "unpriced" });
  await seen.go("/runs/unpriced?step=still");
  await page.route("**/resume-preview", (route) => route.abort(), { times: 1 });
  await page.getByRole("button", { name: "Rerun…" }).click();
  await dialog().getByText("cannot be reached").waitFor();
  const rerun = dialog().getByRole("button", { name: "Rerun", exact: true });
  expect(await rerun.isDisabled()).toBe(true);
  await dialog().getByRole("button", { name: "Retry" }).click();
  await dialog().getByText("1 step to run").waitFor();
  expect(await dialog().getByText("cannot be reached").count()).toBe(0);
  expect(await rerun.isEnabled()).toBe(true);
  await dialog().getByRole("button", { name: "Cancel" }).click();
});

test("a step's input is edited as a form, priced as it is then, and made again; the history says why", async () => {
  await run(plain, {}, { id: "edited", source });
  code = plain;
  await seen.go("/runs/edited?step=still");
  // However late the first answer is: what is asked since then is shown.
  const late = await heldAnswer("**/resume-preview");
  await page.getByRole("button", { name: "Rerun…" }).click();
  await late.asked;
  await dialog().getByLabel("prompt").fill("");
  await dialog().getByText("needs at least one visible character").waitFor();
  expect(await dialog().getByText("to run:").count()).toBe(0);
  await late.release();
  await dialog().getByLabel("prompt").fill("a lighthouse at dawn");
  await dialog().getByText("1 step to run").waitFor();
  await dialog().getByLabel("aspect_ratio").selectOption("16:9");
  await dialog().getByLabel("Why").fill("the client wants dawn");
  const rerun = dialog().getByRole("button", { name: "Rerun", exact: true });
  await eventually(() => rerun.isEnabled()).toBe(true);
  expect(await violations(page)).toEqual([]);
  await rerun.click();
  await dialog().waitFor({ state: "detached" });
  await eventually(async () => (await served.show.show("edited")).steps[0]?.attempts.length).toBe(2);
  await pill("succeeded");
  const request = page.locator(".section", { hasText: "Input" }).first();
  await request.getByText("a lighthouse at dawn").waitFor();
  await request.getByText("16:9").waitFor();
  code = null;

  await seen.go("/runs/edited?step=still");
  await page.getByRole("button", { name: "Rerun…" }).click();
  await dialog().getByText("needs the run's code").waitFor();
  await dialog().getByRole("button", { name: "Cancel" }).click();
});

test("a failed run is offered to be made again where it failed; list and run say the same of how long it took", async () => {
  service.faults([{ kind: "fail_job", prompt: "a lighthouse", retryable: false }]);
  expect((await run(plain, {}, { id: "broken" })).status).toBe("failed");
  service.faults([]);
  await seen.go("/runs/broken");
  await pill("failed");
  const { reason } = (await served.show.show("broken")).steps[0]!;
  expect(await page.getByText(reason!).count()).toBe(1);
  await page.getByRole("button", { name: "Rerun failed steps…" }).click();
  await dialog().getByText("1 step to run").waitFor();
  await dialog().getByRole("button", { name: "Rerun", exact: true }).click();
  await pill("succeeded");
  const took = await page.locator(".facts div", { hasText: "Took" }).locator("b").innerText();
  await seen.go("/");
  await page.locator("a.run", { hasText: "broken" }).getByText(`took ${took}`).waitFor({ state: "attached" });
});

test("a run that is short of funds gets some, and goes on", async () => {
  const poor = await startLocalService({ renderer: "stub", balance: 0 });
  await using own = await serveDashboard({ open: { baseUrl: poor.baseUrl, apiKey: poor.apiKey } });
  const poorRun = await own.show.run(plain, {}, { id: "poor", budget: "2", startAnyway: true, outDir: newFolder() });
  expect((await poorRun.result()).pause?.reason).toBe("funds");
  await using other = await visit(browser, own);
  await other.go("/runs/poor");
  const address = await other.page.getByRole("link", { name: "Add funds" }).getAttribute("href");
  expect(address).toContain("/_local/fund?workspace_id=");
  expect(await violations(other.page)).toEqual([]);
  await poor.fund(7);
  await other.page.getByRole("button", { name: "Resume…" }).click();
  await other.page.getByRole("button", { name: "Resume", exact: true }).click();
  await other.page.locator(".title .pill", { hasText: "succeeded" }).waitFor();
  await poor.close();
});

test("a run is asked to stop, wherever it runs", async () => {
  await plantRun(served.journal, { id: "endless", steps: [{ path: "film", state: "rendering" }] });
  await seen.go("/runs/endless");
  await page.getByRole("button", { name: "Stop…" }).click();
  await dialog().getByText("1 job already on the service cannot be stopped").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Stop the run" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(await served.journal.inbox("endless")).toMatchObject([{ message: { type: "stop" } }]);
});

test("a run that another process drives is not taken from it, and the dialog says who has it", async () => {
  await run(fox("a poster"), {}, { id: "held" });
  const lease = { at: Date.now(), ttlMs: 600_000, isDead: isHolderDead };
  expect((await served.journal.takeLease("held", thisHolder("another"), lease)).acquired).toBe(true);
  await seen.go("/runs/held");
  await page.getByRole("button", { name: "Resume…" }).click();
  await dialog().getByRole("button", { name: "Resume", exact: true }).click();
  await dialog().getByRole("alert").getByText("is being driven by process").waitFor();
  await dialog().getByRole("button", { name: "Cancel" }).click();
});

test("a run whose process was killed says that it is interrupted, waits for you, offers no stop, and no clock goes on", async () => {
  await using own = await serveDashboard();
  await plantRun(own.journal, {
    id: "cut-off",
    driver: { ...thisHolder("test"), processStart: "long ago" },
    steps: [
      { path: "still", state: "done", costMicros: 40_000 },
      { path: "film", needs: ["still"], state: "rendering" },
    ],
  });
  const here = await visit(browser, own);
  await here.go("/");
  const waiting = here.page.getByRole("list", { name: "Runs waiting for you" });
  await waiting.getByText("interrupted").waitFor();
  await here.go("/runs/cut-off");
  await here.page.getByRole("alert").getByText("Interrupted").waitFor();
  await here.page.getByText("showrunner resume cut-off").waitFor();
  expect(await here.page.getByRole("button", { name: "Stop…" }).count()).toBe(0);
  await here.page.getByRole("button", { name: "Resume…" }).waitFor();
  const ran = here.page.locator("dl.facts").getByText("Ran for").locator("..");
  const before = await ran.textContent();
  expect(before).toMatch(/Ran for\d+(\.\d+)? s/);
  await here.page.clock.install();
  await here.page.clock.runFor(60_000);
  expect(await ran.textContent()).toBe(before);
  expect(await violations(here.page)).toEqual([]);
});

test("a run whose process is killed while somebody looks at it turns to interrupted by itself", async () => {
  await using own = await serveDashboard();
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const driver = { ...thisHolder("test"), pid: child.pid!, processStart: "" };
  await plantRun(own.journal, { id: "alive", driver, steps: [{ path: "film", state: "rendering" }] });
  const here = await visit(browser, own);
  await here.go("/runs/alive");
  await here.page.getByRole("button", { name: "Stop…" }).waitFor();
  child.kill("SIGKILL");
  await here.page.getByRole("alert").getByText("Interrupted").waitFor();
  expect(await here.page.getByRole("button", { name: "Stop…" }).count()).toBe(0);
});

test("a submit that got no answer is resolved by a person, from the jobs that the service lists", async () => {
  await using own = await serveDashboard();
  const steps = [{ path: "film", model: "image-1", state: "waiting" as const }];
  const gardener = await plantRun(own.journal, { id: "lost", steps });
  const now = Date.now();
  own.paidService.now = () => now;
  const request = { model: "image-1", input: { prompt: "a film" }, idempotencyKey: "somebody else's" };
  const { jobId } = await own.paidService.client().submit(request);
  const at = { step: "film", attempt: 1 };
  await gardener.add(
    { type: "step.started", step: "film" },
    { type: "job.submit.intended", ...at, key: "sr1_film", model: "image-1", input: {}, holdMicros: 1 },
    { type: "job.submit.unknown", ...at, message: ownText("the connection was lost") },
    { type: "job.unresolved", ...at, message: ownText("nobody knows whether a job was made"), cause: "older job" },
    { type: "run.paused", reason: "unresolved", message: ownText("film may or may not have made a job") },
  );
  await using other = await visit(browser, own);
  await other.go("/runs/lost");
  await other.page.getByRole("button", { name: "film", exact: true }).click();
  const choice = other.page.getByRole("region", { name: "Outcome of the request" });
  await choice.getByText(jobId).waitFor();
  expect(await violations(other.page)).toEqual([]);
  await choice.getByRole("button", { name: "Use this job" }).click();
  await choice.getByText("takes effect when the run is resumed").waitFor();
  expect(await own.journal.inbox("lost")).toMatchObject([{ message: { type: "adopt", step: "film", jobId } }]);
});

test("of a request to a provider the page says what is known, what stays reserved and what to type; that it made nothing is one click", async () => {
  const provider = new MockProvider("mock", [{ throws: new Error("socket hang up") }]);
  const still = pipeline("still", {
    input: z.object({}),
    build: ({ generate }) => ({
      still: generate("still", provider.image(), { prompt: "a boat" }, { maxCost: "0.05" }),
    }),
  });
  await run(still, {}, { id: "lost" });
  await seen.go("/runs/lost?step=still");
  await page.getByText("The outcome of a request is unknown").waitFor();
  const known =
    /^still: sent once to mock .*; up to \$0\.05 stays reserved\. Check your account at mock.*adopt lost still <file\|none>$/;
  await eventually(() => page.getByText(known).count()).toBe(2);
  const choice = page.getByRole("region", { name: "Outcome of the request" });
  await choice.getByRole("button", { name: "No file was generated" }).waitFor();
  expect(await choice.getByText("The service lists").count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await choice.getByRole("button", { name: "No file was generated" }).click();
  await choice.getByText("takes effect when the run is resumed").waitFor();
  await expect(served.show.unresolved("lost")).resolves.toMatchObject([{ decided: { jobId: null } }]);
});

test("nothing of this was stopped by the security policy, threw, or surprised the server", () => {
  expect(seen.complaints.filter((text) => !/40[49]/.test(text))).toEqual([]);
  expect(served.defects).toEqual([]);
});
