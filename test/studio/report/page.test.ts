import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { Plan } from "../../../src/index.ts";
import type { PageTimeline, RunCosts, StepDetail } from "../../../src/studio/dashboard/views/document.ts";
import { words } from "../../support/word-list.ts";
import { type ReadReport, reportFile, reportOf } from "./support/read-report.ts";
import { bigRun, jobStep, SampleRun, uploadStep } from "./support/sample-run.ts";

const evil = `</style></title></script><!--<script>alert(1)</script><img src=x onerror=alert(2)> "a" 'b' & \u001b[31m \u202Etxt`;

const steps = [uploadStep("sample"), jobStep("face"), jobStep("shot-1", ["face", "sample"])];

function halfway(): SampleRun {
  return new SampleRun(steps).start().submit("face").wait(2000).begin("face").wait(3000);
}

const costs = ({ run }: ReadReport) => run.answers.costs as RunCosts;
const timeline = ({ run }: ReadReport) => run.answers.timeline as PageTimeline;
const detail = ({ run }: ReadReport, path: string) =>
  run.answers[`step?path=${encodeURIComponent(path)}`] as StepDetail;

describe("a report", () => {
  test("of a run that succeeded holds its outputs, its cost, and how each file was produced", async () => {
    const run = halfway().complete("face").wait(200).download("face").submit("shot-1").wait(100).begin("shot-1");
    run.wait(4000).complete("shot-1").download("shot-1").place("shot-1", "film", "film.png").finish();
    const report = await reportOf(run);
    const { head } = report.run.patch;
    expect(head).toMatchObject({ status: "succeeded", spentMicros: 100_000, quoteMicros: 100_000, tookMs: 9300 });
    expect(timeline(report).incidents).toEqual([]);
    expect(costs(report).models).toEqual([
      { name: "image-1", count: 1, quoted: 50_000, held: 0, cost: 50_000 },
      { name: "video-1", count: 1, quoted: 50_000, held: 0, cost: 50_000 },
    ]);
    const shot = report.run.patch.steps.find(({ path }) => path === "shot-1")!;
    expect(shot.media[0]).toMatchObject({ name: "film", file: "film.png", sha256: "ab".repeat(32), sizeBytes: 900 });
    expect(shot.attempts[0]).toMatchObject({ jobId: "job_shot-1_1", costMicros: 50_000 });
    expect(detail(report, "shot-1").needs).toEqual(["face", "sample"]);
    expect(detail(report, "face").usedBy).toEqual(["shot-1"]);
    expect(report.run.answers.given).toEqual({ input: { title: "Harbour" }, isCut: false });
  });

  test("for a client holds what was returned, by its name, and nothing else of the run", async () => {
    const run = halfway().complete("face").wait(200).download("face").submit("shot-1").begin("shot-1");
    run.complete("shot-1").download("shot-1").place("shot-1", "film", "film.png").finish();
    const read = async (hasPrice: boolean) => {
      const document = readFileSync(await reportFile(run, { forClient: { hasPrice } }), "utf8");
      return { document, data: /id="client-report">([^<]*)</.exec(document)![1]! };
    };
    const { document, data } = await read(false);
    expect(JSON.parse(data)).toMatchObject({
      title: "sample",
      price: null,
      isComplete: true,
      media: [{ name: "film" }],
    });
    for (const own of words("shot-1 face image-1 video-1 job_ asset_ Harbour prompt /tmp Micros usd"))
      expect([own, data.includes(own)]).toEqual([own, false]);
    expect(document).not.toContain('id="inlined-run"');
    expect(JSON.parse((await read(true)).data).price).toBe("0.10");
  });

  test("of a run that waits for money holds why and what to type", async () => {
    const run = halfway().add({
      type: "run.paused",
      reason: "funds",
      message: ownText("The wallet holds $0.01."),
      fundingUrl: ownText("https://pay.test/?a=1&b=2"),
      requiredMicros: 50_000,
      balanceMicros: 10_000,
    });
    const { head } = (await reportOf(run)).run.patch;
    expect(head.pause).toMatchObject({ message: "The wallet holds $0.01.", fundingUrl: "https://pay.test/?a=1&b=2" });
    expect(head.next?.command).toContain("showrunner resume sample");
  });

  test("holds what was retried and why, and that a refunded attempt cost nothing", async () => {
    const run = halfway().fail("face", 1, "a worker was lost").wait(900).submitAgain("face").wait(500).begin("face", 2);
    const report = await reportOf(run.wait(900).complete("face", 2).download("face", 2));
    expect(timeline(report).incidents).toMatchObject([
      { step: "face", what: "attempt 1 failed, tried again", why: "INTERNAL: a worker was lost", costMicros: 0 },
    ]);
    expect(costs(report).models[0]).toMatchObject({ name: "image-1", count: 2, cost: 50_000 });
  });

  test("of a step that the plan no longer has still counts what it cost", async () => {
    const run = halfway().complete("face").download("face");
    const plan: Plan = { version: 1, pipeline: "sample-film", steps: [jobStep("other")], returns: {} };
    run.add({ type: "run.replanned", plan, quoteMicros: null, renamed: [], expanded: {} });
    const report = await reportOf(run);
    expect(report.run.patch.steps.map(({ path, isRemoved }) => [path, isRemoved])).toContainEqual(["face", true]);
    expect(costs(report).models).toContainEqual(expect.objectContaining({ name: "image-1", cost: 50_000 }));
  });

  test("of a run under way stands still at the moment it was written; of one that was killed, soon after its last event", async () => {
    const run = halfway();
    expect((await reportOf(run)).run.now).toBe(run.now);
    const last = run.now;
    run.wait(9 * 3_600_000);
    expect((await reportOf(run)).run.now).toBe(last - 3000 + 600_000);
  });

  test("of a run that has not begun, and of one without steps, is whole", async () => {
    expect((await reportOf(new SampleRun(steps))).run.patch.head.status).toBe("planned");
    expect((await reportOf(new SampleRun([]))).run.patch.steps).toEqual([]);
  });
});

describe("what a prompt cannot do to a report", () => {
  const hostile = () =>
    new SampleRun([jobStep("face", [], { prompt: evil, [evil]: evil })], { pipeline: evil, outDir: `/out/${evil}` })
      .start()
      .submit("face")
      .fail("face", 1, evil)
      .add({ type: "step.finished", step: "face", status: "failed", reason: evil })
      .finish("failed", evil);

  test("end an element, begin one, or bring control characters", async () => {
    const { document, run } = await reportOf(hostile());
    const ours = document.replace(/<script type="module">[\s\S]*/, "");
    expect(ours.match(/<\/?(script|style|title)\b/g)).toHaveLength(2 * 4);
    expect(ours.match(/<(img|iframe|object)\b|<!--/gi)).toBeNull();
    expect(ours).not.toMatch(/(?!\n)\p{Cc}|\u202E/u);
    expect(document.match(/<\/script/g)).toHaveLength(3);
    expect(run.patch.head.message).toContain(`</script><!--<script>alert(1)</script>`);
    expect(run.patch.head.message).toContain("\\u001b[31m \\u202etxt");
  });

  test("the page allows itself its own script only, and nothing from the network", async () => {
    const { document } = await reportOf(hostile());
    const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(document) ?? [];
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; font-src data:; img-src data:; media-src data:; base-uri 'none'; form-action 'none'$/,
    );
  });

  test("a prompt of ten megabytes is cut, and the page notes it", async () => {
    const report = await reportOf(new SampleRun([jobStep("face", [], { prompt: "long ".repeat(2_000_000) })]));
    expect(report.document.length).toBeLessThan(400_000);
    expect(detail(report, "face").inputIsCut).toBe(true);
  });

  test("a thousand long prompts leave a page that opens", async () => {
    const prompt = "x".repeat(4_000);
    const run = new SampleRun(Array.from({ length: 1000 }, (_, at) => jobStep(`shot-${at}`, [], { prompt })));
    expect((await reportOf(run)).document.length).toBeLessThan(2_800_000);
  });
});

describe("a report of very many steps", () => {
  test("tells a thousand one by one", async () => {
    const report = await reportOf(bigRun());
    expect(report.run.patch.groups).toBeNull();
    expect(report.run.patch.head.counts).toMatchObject({ total: 1000, done: 1000 });
    expect(detail(report, "shot-499").events.length).toBeGreaterThan(3);
    expect(report.document.length).toBeLessThan(4_000_000);
  });

  test("counts more than a page holds by group", async () => {
    const report = await reportOf(bigRun(1600));
    const { groups, steps: shown, head } = report.run.patch;
    expect(groups?.map(({ key, count }) => [key, count])).toEqual([
      ["picture-*", 1600],
      ["shot-*", 1600],
    ]);
    expect(head.counts.total).toBe(3200);
    expect(shown).toHaveLength(1000);
    expect(report.document.length).toBeLessThan(4_000_000);
  });

  test("tells the step that failed wherever it is in the plan", async () => {
    const many = Array.from({ length: 2500 }, (_, at) => jobStep(`shot-${at}`));
    const run = new SampleRun(many).start().submit("shot-2499").fail("shot-2499", 1, "no light");
    run.add({ type: "step.finished", step: "shot-2499", status: "failed", reason: "no light" });
    const report = await reportOf(run.finish("failed"));
    expect(report.run.patch.steps).toHaveLength(1000);
    expect(report.run.patch.steps.at(-1)).toMatchObject({ path: "shot-2499", reason: "no light" });
    expect(detail(report, "shot-2499").needs).toEqual([]);
  });
});
