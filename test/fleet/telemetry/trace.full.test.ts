import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { measureJournal } from "../../../src/fleet/telemetry/index.ts";
import { runTrace } from "../../../src/fleet/telemetry/open-telemetry.ts";
import { openJournal, openShowrunner, type Pipeline } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { startCli } from "../../cli/support/cli.ts";
import { PIXEL } from "../../support/tiny-media.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const CODE = `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("film", {
  input: z.object({}),
  build({ job, upload, approve, task }) {
    const picture = upload("picture", "./secret-name.png");
    const still = job("still", "image-1", { prompt: "a secret prompt" });
    const ok = approve("ok", still);
    return { clip: job("clip", "image-1", { prompt: "after", images: [ok] }), size: task("size", { picture }, () => 1) };
  },
});
`;

let exporter: InMemorySpanExporter;
let service: LocalService;
let folder: string;
beforeEach(async () => {
  exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  folder = await mkdtemp(join(tmpdir(), "trace-"));
  service = await startLocalService({ renderer: "stub", speed: 50, balance: 5 });
});
afterEach(async () => {
  trace.disable();
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

/** Begun by the command line, which ends at the approval; decided and brought to its end here. */
async function ranInTwoProcesses(options: { readonly genAi?: boolean } = {}) {
  await writeFile(join(folder, "film.ts"), CODE);
  await writeFile(join(folder, "secret-name.png"), PIXEL);
  const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
  const begun = await startCli(["run", "film.ts", "--id", "f", "--budget", "1"], { cwd: folder, env }).end;
  expect(begun.code, begun.stderr).toBe(3);
  const journal = await openJournal(join(folder, ".showrunner/journal.db"));
  const measured = await measureJournal(journal, options);
  const { baseUrl, apiKey } = service;
  const show = await openShowrunner({
    ...{ baseUrl, apiKey, journal: measured.journal },
    mediaDir: join(folder, ".showrunner/media"),
  });
  await show.approve("f", "ok");
  const { default: pipeline } = (await import(join(folder, "film.ts"))) as { readonly default: Pipeline };
  const result = await (await show.resume("f", { pipeline })).result();
  expect(result.status).toBe("succeeded");
  const events = await journal.read("f");
  await vi.waitFor(() => expect(named("showrunner.run")).toHaveLength(1));
  await show.close();
  await journal.close();
  return { events, result };
}

const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
const text = (span: ReadableSpan) => JSON.stringify([span.name, span.attributes, span.status]);

test("one trace a run over two processes: what was done stands under its step, with model, attempt and cost", async () => {
  const { events, result } = await ranInTwoProcesses();
  const spans = exporter.getFinishedSpans();
  const { traceId } = runTrace("f", events, { genAi: false })!;
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const [run] = named("showrunner.run");
  expect(run!.attributes).toMatchObject({
    ...{ "showrunner.run": "f", "showrunner.pipeline": "film", "showrunner.status": "succeeded" },
    "showrunner.cost_usd": result.cost.micros / 1e6,
  });
  const steps = named("showrunner.step");
  expect(steps.map((span) => span.attributes["showrunner.step"]).toSorted()).toEqual([
    "clip",
    "ok",
    "picture",
    "size",
    "still",
  ]);
  for (const step of steps) expect(byId.get(step.parentSpanContext!.spanId)).toBe(run);
  const under = (path: string) => {
    const step = steps.find((span) => span.attributes["showrunner.step"] === path)!;
    return spans.filter((span) => span.parentSpanContext?.spanId === step.spanContext().spanId);
  };
  const names = (path: string) =>
    under(path)
      .map(({ name }) => name.replace("showrunner.", ""))
      .toSorted();
  expect(names("still")).toEqual(["download", "follow", "submit"]);
  expect(names("clip")).toEqual(["download", "follow", "submit"]);
  expect([names("picture"), names("ok"), names("size")]).toEqual([["upload"], ["approval"], ["task"]]);
  for (const path of ["still", "clip"]) {
    for (const span of under(path).filter(({ name }) => !name.endsWith("download"))) {
      const cost = path === "still" ? 0.02 : 0.025;
      const attributes = { "showrunner.run": "f", "showrunner.step": path, "showrunner.attempt": 1 };
      expect(span.attributes).toMatchObject({
        ...attributes,
        "showrunner.model": "image-1",
        "showrunner.cost_usd": cost,
      });
    }
  }
  for (const span of spans) {
    expect(text(span)).not.toMatch(/secret|gen_ai|127\.0\.0\.1/);
    const parent = byId.get(span.parentSpanContext?.spanId ?? "");
    if (parent === undefined) continue;
    expect(span.startTime[0] * 1e9 + span.startTime[1]).toBeGreaterThanOrEqual(
      parent.startTime[0] * 1e9 + parent.startTime[1],
    );
    expect(span.endTime[0] * 1e9 + span.endTime[1]).toBeLessThanOrEqual(parent.endTime[0] * 1e9 + parent.endTime[1]);
  }
});

test("the names of the convention for generative AI are there where they are asked for", async () => {
  await ranInTwoProcesses({ genAi: true });
  const genAi = { "gen_ai.operation.name": "generate_content", "gen_ai.request.model": "image-1" };
  const submits = named("showrunner.submit");
  expect(submits).toHaveLength(2);
  for (const submit of submits) expect(submit.attributes).toMatchObject(genAi);
});

test("a job that fails marks its span and its step, and a second attempt is a span of its own", async () => {
  service.faults([{ kind: "fail_job", count: 1 }]);
  const measured = await measureJournal(await openJournal(join(folder, "j.db")));
  const { baseUrl, apiKey } = service;
  const show = await openShowrunner({ baseUrl, apiKey, journal: measured.journal, mediaDir: join(folder, "m") });
  const { pipeline } = await import("../../../src/index.ts");
  const { z } = await import("zod");
  const code = pipeline("one", {
    input: z.object({}),
    build: ({ job }) => ({ a: job("a", "image-1", { prompt: "x" }, { attempts: 2 }) }),
  });
  await (await show.run(code, {}, { id: "r", budget: "1" })).result();
  await vi.waitFor(() => expect(named("showrunner.run")).toHaveLength(1));
  await show.close();
  const follows = named("showrunner.follow");
  expect(follows.map(({ attributes, status }) => [attributes["showrunner.attempt"], status.code])).toEqual([
    [1, 2],
    [2, 0],
  ]);
});
