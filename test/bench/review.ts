/**
 * The review desk over 500 runs that wait for a choice, on SQLite: from the click that opens it, and from a key that asks for
 * the next decision, until the pictures of a decision stand. One page, in Chromium.
 */
import { existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { openJournal } from "../../src/core/journal/open.ts";
import { visit } from "../studio/dashboard/support/browse.ts";
import { plantQuestion } from "../studio/dashboard/support/review-links.ts";
import { serveDashboard } from "../studio/dashboard/support/serve.ts";
import type { Report } from "./harness.ts";

const CHROMIUM = process.env.SHOWRUNNER_CHROMIUM ?? "/usr/bin/chromium";

const OPEN = `document.querySelector("header a[href='/review']").click()`;
const NEXT = `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }))`;

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  if (!existsSync(CHROMIUM)) {
    console.error(`\n*** NOT MEASURED: the review needs Chromium (apt-get install chromium) ***\n`);
    return;
  }
  const decisions = 500;
  const folder = mkdtempSync(join(tmpdir(), "bench-review-"));
  const journal = await openJournal(join(folder, "journal.db"));
  await using served = await serveDashboard({ journal });
  for (let n = 0; n < decisions; n += 1)
    await plantQuestion(served, `run-${n}`, n % 2 === 0 ? "acme" : "rival", [10, 40]);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const opened: number[] = [];
    const next: number[] = [];
    for (let round = 0; round < (quick ? 2 : 5); round += 1) {
      await using seen = await visit(browser, served);
      // The list of runs, from which a person comes, stands.
      await seen.page.waitForTimeout(1_000);
      opened.push(await until(seen.page, OPEN));
      for (let key = 0; key < 10; key += 1) next.push(await until(seen.page, NEXT));
    }
    const group = `${decisions} decisions`;
    report.figure(group, "opened: the first decision stands after", "ms", opened, { most: 300 });
    report.figure(group, "the next decision stands after", "ms", next, { most: 100 });
    report.note(
      `Chromium ${browser.version()}; the first opening folds ${decisions} runs, later ones read what changed`,
    );
  } finally {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Milliseconds from an act in the page until another decision stands, with the focus and with its pictures. */
function until(page: Page, act: string): Promise<number> {
  return page.evaluate(`new Promise((done) => {
    const before = document.querySelector(".desk-stage");
    const began = performance.now();
    const look = () => {
      const stage = document.querySelector(".desk-stage");
      const images = [...(stage?.querySelectorAll("img") ?? [])];
      const stands = stage !== null && stage !== before && images.length > 0 && images.every((one) => one.complete);
      if (stands && stage.contains(document.activeElement)) done(performance.now() - began);
      else requestAnimationFrame(look);
    };
    ${act};
    look();
  })`);
}
