import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { createMemoryJournal, type JournalStore, type RunHandle, type Showrunner } from "../../../src/index.ts";
import type { EventStream } from "../../../src/studio/dashboard/http/route.ts";
import { applyPatch, type RunModel } from "../../../src/studio/dashboard/page/state/run-store.ts";
import { RunCache } from "../../../src/studio/dashboard/runs/run-cache.ts";
import { Drivers, GaugeReader, runPatch, type WatchParts, watchRun } from "../../../src/studio/dashboard/runs/watch.ts";
import type {
  PageTimeline,
  RunPatch,
  RunsPage,
  StepDetail,
  StepProgress,
  StepsPage,
} from "../../../src/studio/dashboard/views/document.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { words } from "../../support/word-list.ts";
import { cookieOf } from "./support/ask.ts";
import { eventually } from "./support/eventually.ts";
import { listen } from "./support/listen.ts";
import { doneEvents, type PlantedStep, plantRun, stepEvents } from "./support/planted.ts";
import { type Served, serveDashboard } from "./support/serve.ts";

const patchOf = async (listener: Awaited<ReturnType<typeof listen>>) => (await listener.next("run")).data as RunPatch;

describe("the live stream", () => {
  test("begins with everything, then sends only the steps that changed", async () => {
    await using served = await serveDashboard();
    const steps: PlantedStep[] = [
      { path: "a", state: "rendering" },
      { path: "b", state: "waiting" },
    ];
    const gardener = await plantRun(served.journal, { id: "r", steps });
    await using listener = await listen(served, "/api/live?run=r");
    const first = await patchOf(listener);
    expect(first.full).toBe(true);
    expect(first.steps.map(({ path, phase }) => [path, phase])).toEqual([
      ["a", "rendering"],
      ["b", "waiting"],
    ]);
    await gardener.add(...doneEvents(steps[0]!));
    const seen: RunPatch[] = [];
    while (seen.at(-1)?.steps.at(-1)?.phase !== "succeeded") seen.push(await patchOf(listener));
    expect(seen.every(({ full, steps }) => !full && steps.every(({ path }) => path === "a"))).toBe(true);
  });

  test("goes on after the last event that the reader saw, with an id for the next time", async () => {
    await using served = await serveDashboard();
    const steps = ["a", "b"].map((path): PlantedStep => ({ path, state: "waiting" }));
    const gardener = await plantRun(served.journal, { id: "r", steps });
    const { lastSeq } = (await served.journal.run("r"))!;
    await gardener.add(...stepEvents({ path: "b", state: "queued" }));
    await using listener = await listen(served, "/api/live?run=r", { "last-event-id": String(lastSeq) });
    const { id, data } = await listener.next("run");
    const patch = data as RunPatch;
    expect(patch.full).toBe(false);
    expect(patch.steps.map(({ path }) => path)).toEqual(["b"]);
    const types = words("lease.acquired step.started job.submit.intended job.submitted");
    expect(patch.events.map(({ type }) => type)).toEqual(types);
    expect(Number(id)).toBe(patch.head.seq);
  });

  test("shows a run that another process writes, and its progress", async () => {
    const file = join(newFolder(), "journal.db");
    await using elsewhere = await opened(file);
    const gardener = await plantRun(elsewhere.journal, { id: "r", steps: [{ path: "a", state: "rendering" }] });
    await using here = await opened(file);
    await using served = await serveDashboard({ journal: here.journal });
    await using listener = await listen(served, "/api/live?run=r");
    expect((await patchOf(listener)).steps[0]!.phase).toBe("rendering");
    await elsewhere.journal.setProgress("r", { step: "a", fraction: 0.5, estimatedCompletionAt: null });
    expect((await listener.next("progress")).data as readonly StepProgress[]).toEqual([
      { step: "a", progress: 0.5, estimated_completion_at: null },
    ]);
    await gardener.add({ type: "run.paused", reason: "stopped", message: ownText("stopped by a person") });
    let patch = await patchOf(listener);
    while (patch.head.status !== "paused") patch = await patchOf(listener);
    expect(patch.head.pause?.message).toBe("stopped by a person");
  });

  test("tells of new runs, whoever makes them", async () => {
    await using served = await serveDashboard();
    await using listener = await listen(served, "/api/live");
    await listener.next("runs");
    await plantRun(served.journal, { id: "new", steps: [{ path: "a" }] });
    await listener.next("runs");
    const page = await listed(served, "");
    expect(page.rows.map(({ id }) => id)).toEqual(["new"]);
  });

  test("says what is in the wallet", async () => {
    await using served = await serveDashboard();
    await using listener = await listen(served, "/api/live");
    expect((await listener.next("gauges")).data).toMatchObject({ balanceMicros: 1_000_000_000, balanceError: null });
  });
});

test("a run that cannot be read says so, and hides no other", async () => {
  await using served = await serveDashboard();
  await plantRun(served.journal, { id: "fine", steps: [{ path: "a" }] });
  const gardener = await plantRun(served.journal, { id: "damaged", steps: [{ path: "a", state: "waiting" }] });
  await gardener.add({ type: "job.completed", step: "a", attempt: 7, outputs: [] });
  const page = await listed(served, "");
  expect(page.rows.map(({ id, message }) => [id, message?.includes("cannot happen") ?? false])).toEqual([
    ["damaged", true],
    ["fine", false],
  ]);
  expect((await asked(served, "/api/runs/damaged")).status).toBe(409);
});

test("a run that is removed while it is looked at is gone, and another one under its name is itself", async () => {
  await using served = await serveDashboard();
  const { journal } = served;
  await plantRun(journal, { id: "r", steps: [{ path: "old" }], end: "succeeded" });
  const parts = partsOf(journal);
  expect((await runPatch(parts, "r", 0)).steps.map(({ path }) => path)).toEqual(["old"]);
  expect(await journal.removeRun("r", Date.now() + 3_600_000)).toEqual({ removed: true });
  await expect(runPatch(parts, "r", 0)).rejects.toThrow("This run was not found.");
  await plantRun(journal, { id: "r", steps: [{ path: "new", state: "waiting" }] }, Date.now());
  const patch = await runPatch(parts, "r", 0);
  expect([patch.full, patch.steps.map(({ path }) => path)]).toEqual([true, ["new"]]);
  const gone = { ...journal, run: (id: string) => journal.run(id), read: async () => [] } as unknown as JournalStore;
  await expect(runPatch({ ...parts, journal: gone }, "r", 0)).rejects.toThrow("This run was not found.");
});

describe("the gauges", () => {
  const gaugesOf = (show: () => Showrunner, now: () => number, onLost = () => {}) => new GaugeReader(show, onLost, now);
  const show = (pace: object, balance: () => Promise<never>) =>
    ({
      balance,
      client: { pace: () => ({ inFlight: 1, queued: 2, pausedUntil: null, limit: null, ...pace }) },
    }) as unknown as Showrunner;

  test("count the requests of the last minute against the limit, once it is known", async () => {
    let now = 0;
    let sent = 5;
    const limit = { requests: 10, perMs: 1000 };
    const paced = () => show({ sent, limit }, () => Promise.reject(new Error("not asked")));
    const gauges = gaugesOf(paced, () => now);
    expect((await gauges.read()).pace).toMatchObject({ lastMinute: 0, limitPerMinute: 600, inFlight: 1, queued: 2 });
    sent = 25;
    now = 30_000;
    expect((await gauges.read()).pace.lastMinute).toBe(20);
    now = 95_000;
    expect((await gauges.read()).pace.lastMinute).toBe(0);
  });

  test("ask for the balance every quarter of a minute at most, and say why it is not known", async () => {
    let now = 0;
    let asked = 0;
    let lost = 0;
    const failing = () => show({ sent: 0 }, () => Promise.reject(new Error(`no answer ${++asked}`)));
    const gauges = gaugesOf(
      failing,
      () => now,
      () => (lost += 1),
    );
    for (const [at, answer] of [
      [0, 1],
      [14_999, 1],
      [15_000, 2],
    ] as const) {
      now = at;
      expect((await gauges.read()).balanceError).toBe(`no answer ${answer}`);
    }
    expect(lost).toBe(2);
  });
});

test("what goes wrong while the dashboard drives a run reaches the page, although the journal holds nothing of it", async () => {
  await using served = await serveDashboard();
  await plantRun(served.journal, { id: "r", steps: [{ path: "a", state: "waiting" }] });
  const drivers = new Drivers();
  const journal = served.journal;
  const sent: RunPatch[] = [];
  const stop = new AbortController();
  const stream: EventStream = {
    signal: stop.signal,
    send: (event, data) => event === "run" && sent.push(data as RunPatch),
    end: () => {},
  };
  const watching = watchRun({ journal, cache: new RunCache(journal), drivers }, "r", 0, stream);
  await eventually(() => sent.length).toBe(1);
  const { promise, reject } = Promise.withResolvers<never>();
  const handle = { id: "r", result: () => promise } as unknown as RunHandle;
  await drivers.follow(handle, async () => {});
  await eventually(() => sent.at(-1)?.head.drivenHere).toBe(true);
  reject(new Error("the disk is full"));
  await eventually(() => sent.at(-1)?.head).toMatchObject({ drivenHere: false, driveError: "the disk is full" });
  stop.abort();
  await watching;
});

test("a prompt of 10 MB is cut before it is sent, and the run stays usable", async () => {
  await using served = await serveDashboard();
  const prompt = "lighthouse ".repeat(1_000_000);
  await plantRun(served.journal, { id: "r", steps: [{ path: "a", prompt, state: "done" }] });
  for (const path of ["/api/runs/r", "/api/runs/r/step?path=a", "/api/runs/r/events", "/api/runs"])
    expect((await (await asked(served, path)).text()).length).toBeLessThan(20_000);
});

test("the list is searched and filtered on the server, and counts every status", async () => {
  await using served = await serveDashboard();
  await plantRun(served.journal, { id: "one", pipeline: "poster", steps: [{ path: "a" }], end: "succeeded" });
  const failed = [{ path: "a", state: "failed" as const }];
  await plantRun(served.journal, { id: "two", pipeline: "film", steps: failed, end: "failed" });
  await plantRun(served.journal, { id: "three", pipeline: "film", steps: [{ path: "a" }], end: "succeeded" });
  expect((await listed(served, "q=FILM")).rows.map(({ id }) => id).sort()).toEqual(["three", "two"]);
  expect((await listed(served, "status=failed")).rows.map(({ id }) => id)).toEqual(["two"]);
  const page = await listed(served, "limit=1");
  expect([page.rows.length, page.matching, page.byStatus]).toEqual([1, 3, { succeeded: 2, failed: 1 }]);
});

test("however a page came by its patches, it ends with what a page opened now shows", async () => {
  const states = ["waiting", "queued", "rendering", "done", "failed"] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(60), { maxLength: 6 }),
      async (given, cuts) => {
        const journal = createMemoryJournal();
        await plantRun(journal, { id: "r", steps: given.map((state, index) => ({ path: `s${index}`, state })) });
        const parts = partsOf(journal);
        const last = (await journal.run("r"))!.lastSeq;
        let model: RunModel | null = null;
        for (const cut of [...cuts.map((cut) => Math.min(cut, last)).sort((a, b) => a - b), last]) {
          const until = partsOf(upTo(journal, cut));
          if (cut > 0) model = applyPatch(model, await runPatch(until, "r", (model as RunModel | null)?.head.seq ?? 0));
        }
        const fresh = applyPatch(null, await runPatch(parts, "r", 0));
        expect([...model!.steps.values()]).toEqual([...fresh.steps.values()]);
        expect(model!.head).toEqual(fresh.head);
        expect(model!.events).toEqual(fresh.events);
        await journal.close();
      },
    ),
    { numRuns: 40 },
  );
});

function partsOf(journal: JournalStore): WatchParts {
  return { journal, cache: new RunCache(journal), drivers: new Drivers() };
}

/** The journal as it was when the run had so many events. */
function upTo(journal: JournalStore, seq: number): JournalStore {
  const view: Pick<JournalStore, "run" | "read" | "snapshot" | "progress"> = {
    run: async (id) => ({ ...(await journal.run(id))!, lastSeq: seq }),
    read: async (id, options) => (await journal.read(id, options)).filter((event) => event.seq <= seq),
    snapshot: async () => null,
    progress: async () => [],
  };
  return view as JournalStore;
}

const asked = async ({ dashboard }: Served, path: string) =>
  fetch(dashboard.origin + path, { headers: { cookie: await cookieOf(dashboard.url) } });

const listed = async (served: Served, query: string) =>
  (await (await asked(served, `/api/runs?${query}`)).json()) as RunsPage;

async function opened(file: string): Promise<{ readonly journal: JournalStore } & AsyncDisposable> {
  const journal = await openSqliteJournal(file);
  return { journal, [Symbol.asyncDispose]: () => journal.close() };
}

describe("a run of more steps than a page holds", () => {
  const steps = Array.from({ length: 1250 }, (_, index): readonly PlantedStep[] => [
    { path: `shot-${index}/still`, state: index < 700 ? "done" : "waiting" },
    { path: `shot-${index}/clip`, needs: [`shot-${index}/still`], state: index === 3 ? "failed" : "waiting" },
  ]).flat();

  test("comes as its groups and a few steps; an event changes the count of its group", async () => {
    const journal = createMemoryJournal();
    const gardener = await plantRun(journal, { id: "r", steps });
    const first = await runPatch(partsOf(journal), "r", 0);
    expect(first.groups?.map(({ key, count, phases, needs }) => ({ key, count, phases, needs }))).toEqual([
      { key: "shot-*/still", count: 1250, phases: { succeeded: 700, waiting: 550 }, needs: [] },
      { key: "shot-*/clip", count: 1250, phases: { failed: 1, waiting: 1249 }, needs: ["shot-*/still"] },
    ]);
    expect(first.head.counts).toEqual({ total: 2500, done: 700, active: 0, waiting: 1799, failed: 1, skipped: 0 });
    expect(first.steps.map(({ path }) => path)).toContain("shot-3/clip");
    expect(first.steps.length).toBeLessThan(20);
    const parts = partsOf(journal);
    await runPatch(parts, "r", 0);
    await gardener.add(...stepEvents({ path: "shot-900/still", state: "rendering" }));
    const next = await runPatch(parts, "r", first.head.seq);
    expect(next.steps.map(({ path, phase }) => [path, phase])).toEqual([["shot-900/still", "rendering"]]);
    const fresh = await runPatch(partsOf(journal), "r", 0);
    expect([next.groups, next.head.counts]).toEqual([fresh.groups, fresh.head.counts]);
    const model = applyPatch(applyPatch(null, first), next);
    expect(model.steps.get("shot-900/still")?.phase).toBe("rendering");
  });

  test("has lists that come in parts", async () => {
    await using served = await serveDashboard();
    await plantRun(served.journal, { id: "r", steps });
    const get = async <T>(path: string) => (await (await asked(served, `/api/runs/r/${path}`)).json()) as T;
    const found = (query: Record<string, string>) => get<StepsPage>(`steps?${new URLSearchParams(query)}`);
    const waiting = await found({ group: "shot-*/still", phase: "waiting", limit: "2" });
    expect([waiting.total, waiting.steps.map(({ path }) => path)]).toEqual([550, ["shot-700/still", "shot-701/still"]]);
    expect((await found({ with: "attempts" })).total).toBe(701);
    expect((await found({ with: "returned" })).total).toBe(0);
    const timeline = await get<PageTimeline>("timeline?rows=10");
    expect([timeline.rows, new Set(timeline.spans.map(({ step }) => step)).size]).toEqual([701, 10]);
    const models = [{ name: "paint/fast", count: 701, held: 0, cost: 28_000_000 }];
    expect(await get("costs")).toMatchObject({ models });
    const { events } = await get<StepDetail>("step?path=shot-3%2Fclip");
    expect(events.at(-1)?.type).toBe("step.finished");
    const named = await get<StepsPage>("steps?path=shot-3%2Fclip");
    expect(named.steps.map(({ phase }) => phase)).toEqual(["failed"]);
  });
});
