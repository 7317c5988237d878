import { describe, expect, test } from "vitest";
import { ownText } from "../../src/clean-text.ts";
import { type ReportFacts, reportPage } from "../../src/report/index.ts";
import { bigRun, jobStep, SampleRun, uploadStep } from "./support/sample-run.ts";

const evil = `</style></title><script>alert(1)</script><img src=x onerror=alert(2)> "a" 'b' & \u001b[31m \u202Etxt`;

function page(facts: ReportFacts): string {
  return reportPage(facts, new Map(), { writtenAt: Date.UTC(2030, 0, 2), version: "1.2.3" });
}

/** What a reader sees: no tags, no style. */
function textOf(document: string): string {
  return document
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(\w+|#39);/g, (_, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name] ?? "")
    .replace(/\s+/g, " ");
}

const steps = [uploadStep("sample"), jobStep("face"), jobStep("shot-1", ["face", "sample"])];
const uploaded = {
  type: "upload.stored",
  step: "sample",
  sha256: "0".repeat(64),
  sizeBytes: 1200,
  contentType: "audio/wav",
} as const;

function halfway(): SampleRun {
  return new SampleRun(steps)
    .start()
    .add({ type: "step.started", step: "sample" }, uploaded, {
      type: "step.finished",
      step: "sample",
      status: "succeeded",
      reason: null,
    })
    .submit("face")
    .wait(2000)
    .begin("face")
    .wait(3000);
}

describe("a report", () => {
  test("of a run that succeeded shows its outputs, its cost, and how each file was produced", () => {
    const run = halfway().complete("face").wait(200).download("face").submit("shot-1").wait(100).begin("shot-1");
    run.wait(4000).complete("shot-1").download("shot-1").place("shot-1", "film", "film.png").finish();
    const text = textOf(page(run.facts()));
    expect(text).toContain("Produced 1 file in 9.3 s for $0.10, exactly as quoted.");
    expect(text).toContain("No incident: no retry, no pause, no refusal.");
    expect(text).toMatch(/film File film\.png 64 × 48 · image\/png · 900 B SHA-256 (ab){32} Made by shot-1 on video-1/);
    expect(text).toMatch(/Made from sample , face/);
    expect(text).toContain("a picture of face");
  });

  test("lists its sections, and each link leads to one", () => {
    const document = page(halfway().facts());
    const sections = [...document.matchAll(/<section id="(\w+)"/g)].map(([, id]) => id);
    const contents = /<nav class="contents"[\s\S]*?<\/nav>/.exec(document)?.[0] ?? "";
    expect([...contents.matchAll(/href="#(\w+)"/g)].map(([, id]) => id)).toEqual(sections);
    expect(sections.length).toBeGreaterThan(5);
  });

  test("of a run that waits for money shows why and what to type", () => {
    const run = halfway().add({
      type: "run.paused",
      reason: "funds",
      message: ownText("The wallet holds $0.01."),
      fundingUrl: ownText("https://pay.test/?a=1&b=2"),
      requiredMicros: 50_000,
      balanceMicros: 10_000,
    });
    const text = textOf(page(run.facts()));
    expect(text).toContain("Waiting: funds");
    expect(text).toContain("The wallet holds $0.01.");
    expect(text).toContain("https://pay.test/?a=1&b=2");
    expect(text).toContain("showrunner resume sample");
  });

  test("shows what was retried and why, and that a refunded attempt cost nothing", () => {
    const run = halfway().fail("face", 1, "a worker was lost").wait(900).submitAgain("face").wait(500).begin("face", 2);
    run.wait(900).complete("face", 2).download("face", 2);
    const document = page(run.facts());
    expect(textOf(document)).toContain("face attempt 1 failed, tried again (refunded) INTERNAL: a worker was lost");
    expect(document).toContain('class="failed"');
    expect(textOf(document)).toMatch(/face ✓ succeeded image-1 2 \$0\.05 \$0\.05 as quoted/);
  });

  test("of a failed run names the step at fault first", () => {
    const run = halfway()
      .fail("face", 1, "the prompt was refused")
      .add(
        { type: "step.finished", step: "face", status: "failed", reason: "the prompt was refused" },
        { type: "step.finished", step: "shot-1", status: "skipped", reason: "face failed" },
      );
    const text = textOf(page(run.finish("failed", "face failed").facts()));
    expect(text).toContain("What went wrong face : the prompt was refused");
    expect(text).toContain("Failed after 5.0 s, having cost $0.00: face failed.");
  });

  test("of a run that has not begun, and of one without steps, is whole", () => {
    expect(textOf(page(new SampleRun(steps).facts()))).toContain("Planned with 3 steps; not started, nothing spent.");
    expect(textOf(page(new SampleRun([]).facts()))).toContain("The plan has no steps.");
  });

  test("of a running run states its time, and draws the activity up to then", () => {
    const document = page(halfway().facts());
    expect(textOf(document)).toContain("This page shows the moment it was written.");
    expect(document).toContain("rendering, 3.0 s so far");
  });

  test("links lead to places that are there", () => {
    const run = halfway().complete("face").download("face").place("face", "face", "face.png");
    expectWholeLinks(page(run.facts()));
  });
});

describe("what a prompt cannot do to a report", () => {
  const hostile = () =>
    new SampleRun([jobStep("face", [], { prompt: evil, [evil]: evil })], { pipeline: "evil", outDir: `/out/${evil}` })
      .start()
      .submit("face")
      .fail("face", 1, evil)
      .add({ type: "step.finished", step: "face", status: "failed", reason: evil })
      .finish("failed", evil);

  test("neither script, markup, style nor control characters", () => {
    const document = page(hostile().facts());
    expect(document.match(/<(script|img|iframe|object)\b/gi)).toBeNull();
    expect(document.match(/<style/g)).toHaveLength(1);
    expect(document).not.toMatch(/(?!\n)\p{Cc}|\u202E/u);
    expect(textOf(document)).toContain("\\u001b[31m \\u202etxt");
  });

  test("the page allows itself no script and nothing from the network", () => {
    const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(page(hostile().facts())) ?? [];
    expect(policy.replaceAll("&#39;", "'")).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; media-src data:; base-uri 'none'; form-action 'none'$/,
    );
  });

  test("a prompt of ten megabytes is cut, and the page notes it", () => {
    const run = new SampleRun([jobStep("face", [], { prompt: "long ".repeat(2_000_000) })]);
    const document = page(run.facts());
    expect(document.length).toBeLessThan(60_000);
    expect(textOf(document)).toContain("9,996,000 more characters, in the journal");
  });

  test("a thousand long prompts leave a page that opens", () => {
    const prompt = "x".repeat(4_000);
    const run = new SampleRun(Array.from({ length: 1000 }, (_, at) => jobStep(`shot-${at}`, [], { prompt })));
    expect(page(run.facts()).length).toBeLessThan(2_000_000);
  });
});

describe("a report of a thousand steps", () => {
  const document = page(bigRun().facts());

  test("draws steps that are alike as one, and packs the rows of its timeline", () => {
    expect(document).toContain("500 × picture-#");
    expect(document.match(/class="row"/g)!.length).toBeLessThan(30);
    expect(textOf(document)).toContain("All 1,000 steps");
    expect(document.length).toBeLessThan(2_000_000);
  });

  test("cuts a night out of the time, and does not count it", () => {
    expect(document).toContain("9 h 00 min in which nothing was done");
    expect(textOf(document)).toMatch(/Produced no files in 1\d min/);
  });
});

describe("a report of more steps than a page holds", () => {
  test("counts those that are alike together and tells a thousand one by one", () => {
    const document = page(bigRun(1600).facts());
    expect(textOf(document)).toContain("1,000 steps of 3,200");
    expect(textOf(document)).toMatch(/1600 × shot-# ✓ succeeded 1,600 video-1 1\d\d\d \$80.00/);
    expect(document).toMatch(/\d+ at once, mostly rendering/);
    expect(document.length).toBeLessThan(2_500_000);
    expectWholeLinks(document);
  });

  test("tells the step that failed wherever it is in the plan", () => {
    const steps = Array.from({ length: 1500 }, (_, at) => jobStep(`shot-${at}`));
    const run = new SampleRun(steps).start().submit("shot-1499").fail("shot-1499", 1, "no light");
    run.add({ type: "step.finished", step: "shot-1499", status: "failed", reason: "no light" });
    const facts = run.finish("failed").facts();
    expect(facts.detailed).toHaveLength(1000);
    expect(facts.detailed.at(-1)?.path).toBe("shot-1499");
    expectWholeLinks(page(facts));
  });

  test("shows its first files and the number of the others", () => {
    const run = new SampleRun([jobStep("face")]).start().submit("face").complete("face").download("face");
    for (let at = 0; at < 700; at += 1) run.place("face", `face-${at}`, `face-${at}.png`);
    const document = page(run.finish().facts());
    expect(textOf(document)).toContain("… and 200 more files in /nowhere/out.");
    expect(document.match(/<article/g)).toHaveLength(500);
  });
});

function expectWholeLinks(document: string): void {
  const ids = new Set([...document.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
  const links = [...document.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id);
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((link) => !ids.has(link))).toEqual([]);
}
