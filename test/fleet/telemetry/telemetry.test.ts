import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { metrics, trace } from "@opentelemetry/api";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type Measured, measureJournal } from "../../../src/fleet/telemetry/index.ts";
import { Counter, expositionText } from "../../../src/fleet/telemetry/metrics.ts";
import { createMemoryJournal, openShowrunner, pipeline } from "../../../src/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";

afterEach(() => {
  trace.disable();
  metrics.disable();
});

const two = pipeline("two", {
  input: z.object({}),
  build({ job, task }) {
    const picture = job("picture", "image-1", { prompt: "a lamp", aspect_ratio: "1:1" });
    return {
      picture,
      size: task("size", { picture }, () => 1),
      broken: task("broken", {}, () => Promise.reject(new Error("no"))),
    };
  },
});

/** A real run on a measured journal. */
async function ran(options: Parameters<typeof startLocalService>[0] = {}) {
  const folder = await mkdtemp(join(tmpdir(), "telemetry-"));
  const service = await startLocalService({ renderer: "stub", balance: 5, ...options });
  const inner = createMemoryJournal();
  const measured = await measureJournal(inner);
  const { baseUrl, apiKey } = service;
  const show = await openShowrunner({ baseUrl, apiKey, journal: measured.journal, mediaDir: join(folder, "media") });
  onTestFinished(async () => {
    await show.close();
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });
  measured.watch(show);
  const run = await show.run(two, {}, { id: "x", budget: "1", outDir: join(folder, "out") });
  return { measured, inner, show, result: await run.result() };
}

/** Scraped over HTTP, checked line by line, and read by name and labels. */
async function scraped(measured: Measured) {
  const server = createServer((incoming, response) => {
    void measured.handle(incoming, response).then((done) => void (done || response.writeHead(404).end()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [answer, other] = [await fetch(`${origin}/metrics`), await fetch(`${origin}/other`)];
  const text = await answer.text();
  server.close();
  expect([answer.status, other.status]).toEqual([200, 404]);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const values = new Map<string, number>();
  const typed = new Set<string>();
  for (const line of text.trimEnd().split("\n")) {
    const type = /^# TYPE ([a-z_]+) (?:counter|gauge)$/.exec(line);
    if (type !== null) {
      expect(typed.has(type[1]!)).toBe(false);
      typed.add(type[1]!);
    }
    if (line.startsWith("#")) continue;
    const [, name, labels = "", value] = /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+\})? (\S+)$/.exec(line)!;
    expect(typed.has(name!)).toBe(true);
    values.set(`${name}${labels}`, Number(value));
  }
  return values;
}

test("a scrape of a real run says what ended, what it cost, what is reserved, and how many requests it took", async () => {
  const { measured, result, show } = await ran();
  expect(result.status).toBe("partial");
  const values = await scraped(measured);
  const cost = result.cost.micros / 1e6;
  expect(cost).toBeGreaterThan(0);
  expect(
    Object.fromEntries([...values].filter(([name]) => /runs|steps|usd|leases|notices|queue_age|submitted/.test(name))),
  ).toEqual({
    'showrunner_events_total{type="job.submitted"}': 1,
    'showrunner_runs_finished_total{status="partial"}': 1,
    'showrunner_steps_finished_total{status="succeeded"}': 2,
    'showrunner_steps_finished_total{status="failed"}': 1,
    showrunner_charged_usd_total: cost,
    showrunner_leases_lost_total: 0,
    'showrunner_runs{status="partial"}': 1,
    showrunner_runs_overdue: 0,
    showrunner_queue_age_seconds: 0,
    showrunner_spent_usd: cost,
    showrunner_held_usd: 0,
    showrunner_notices_waiting: values.get("showrunner_notices_waiting"),
  });
  expect(values.get("showrunner_requests_total")).toBe(show.client.pace().sent);
  expect(values.get("showrunner_requests_limited_total")).toBe(0);
  expect(values.get("process_cpu_seconds_total")).toBeGreaterThan(0);
});

test("answers 429 are counted", async () => {
  const limited = { kind: "error", code: "RESOURCE_EXHAUSTED", retry_after: 0, route: "POST /models/{model}" } as const;
  const { measured } = await ran({ faults: [{ ...limited, count: 2 }] });
  expect((await scraped(measured)).get("showrunner_requests_limited_total")).toBe(2);
});

test("a lease that another process took is counted once, however it is noticed", async () => {
  const { measured, inner } = await ran();
  const holder = { host: "h", bootId: "b", pid: 1, processStart: "1", instance: "one", program: "1.0.0" };
  const frozen = await measured.journal.takeLease("x", holder, { at: 0, ttlMs: 1, isDead: () => false });
  const heir = await inner.takeLease(
    "x",
    { ...holder, instance: "two" },
    { at: 1000, ttlMs: 1000, isDead: () => true },
  );
  if (!frozen.acquired || !heir.acquired) throw new Error("no lease");
  const { lastSeq } = (await inner.run("x"))!;
  const commit = { lease: frozen.lease, afterSeq: lastSeq, at: 2000, events: [], status: "partial" };
  expect(await measured.journal.renewLease(frozen.lease, { at: 2000, ttlMs: 1 })).toBe(false);
  expect(await measured.journal.commit(commit)).toMatchObject({ committed: false, reason: "fenced" });
  expect((await scraped(measured)).get("showrunner_leases_lost_total")).toBe(1);
});

test("a journal that cannot be read is answered with 503", async () => {
  const measured = await measureJournal({
    ...createMemoryJournal(),
    runs: () => Promise.reject(new Error("secret place")),
  });
  const written: unknown[] = [];
  const response = {
    writeHead: (status: number) => void written.push(status),
    end: (text: string) => void written.push(text),
  };
  expect(await measured.handle({ method: "GET", url: "/metrics?x=1" }, response as never)).toBe(true);
  expect(written).toEqual([503, "The journal could not be read.\n"]);
});

test("labels and helps hold any text", () => {
  const counter = new Counter("a_total", "first\nsecond \\");
  counter.add({ name: 'a "quoted"\\\n' });
  counter.add({ name: 'a "quoted"\\\n' }, 2);
  expect(expositionText([[counter.family, counter.samples()]])).toBe(
    '# HELP a_total first\\nsecond \\\\\n# TYPE a_total counter\na_total{name="a \\"quoted\\"\\\\\\n"} 3\n',
  );
});

test("OpenTelemetry gets a trace of a run that is over, with the journal's times, and reads the counters", async () => {
  const spans: {
    readonly name: string;
    readonly startTime: number;
    endTime: number;
    failed: boolean;
    readonly attributes: unknown;
  }[] = [];
  const tracer = {
    startSpan(
      name: string,
      { attributes, startTime = 0 }: { readonly attributes?: unknown; readonly startTime?: number } = {},
    ) {
      const span = { name, startTime, endTime: 0, failed: false, attributes };
      spans.push(span);
      const set = { setAttribute: () => set, setAttributes: () => set, spanContext: () => ({}) };
      return Object.assign(set, {
        setStatus: () => {
          span.failed = true;
        },
        end: (at: number) => {
          span.endTime = at;
        },
      });
    },
    startActiveSpan: (name: string, options: object, work: (span: unknown) => unknown) =>
      work(tracer.startSpan(name, options)),
  };
  const callbacks = new Map<string, (result: { observe(value: number, labels: object): void }) => void>();
  trace.setGlobalTracerProvider({ getTracer: () => tracer as never });
  const createObservableCounter = (name: string) => ({
    addCallback: (callback: never) => callbacks.set(name, callback),
  });
  metrics.setGlobalMeterProvider({ getMeter: () => ({ createObservableCounter }) as never });
  const { inner } = await ran();
  const events = await inner.read("x");
  await expect.poll(() => spans.filter(({ name }) => /\.(?:run|step)$/.test(name)).length).toBe(4);
  const [run, ...steps] = spans
    .filter(({ name }) => /\.(?:run|step)$/.test(name))
    .toSorted((a, b) => a.name.localeCompare(b.name));
  expect(run).toMatchObject({
    name: "showrunner.run",
    startTime: events[0]!.at,
    endTime: events.at(-1)!.at,
    attributes: { "showrunner.run": "x" },
  });
  expect(steps.map(({ name, failed }) => [name, failed]).toSorted()).toEqual([
    ["showrunner.step", false],
    ["showrunner.step", false],
    ["showrunner.step", true],
  ]);
  for (const { startTime, endTime } of steps) expect(startTime <= endTime && endTime <= run!.endTime).toBe(true);
  const seen: [number, object][] = [];
  callbacks.get("showrunner.runs_finished")!({ observe: (value, labels) => void seen.push([value, labels]) });
  expect(seen).toEqual([[1, { status: "partial" }]]);
});
