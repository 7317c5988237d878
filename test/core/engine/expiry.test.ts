import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConnectionError, DownloadError, type Priority } from "../../../src/core/api/index.ts";
import { openShowrunner, type RunResult } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { attemptsOf, during, eventsOf, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";
import { apiError } from "../../support/fake-paid-service.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const folder = newFolder();

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const faceMicros = 20_000;

/** A picture that a person looks at before two more are made from it. */
function gated(keep: boolean) {
  return pipelineOf(keep ? "gated" : "gated-without-copy", ({ job, approve }) => {
    const face = job("face", models.image, { prompt: "a face" }, { keep });
    const chosen = approve("look", face);
    const poster = job("poster", models.image, { prompt: "a poster", images: [chosen] });
    const card = job("card", models.image, { prompt: "a card", images: [face] });
    return { poster, card };
  });
}

describe("An approval that takes longer than the service keeps what it shows", () => {
  let service: LocalService;

  beforeEach(async () => {
    service = await startLocalService({ renderer: "stub", rateLimit: { requests: 1e6, windowMs: 60_000 } });
  });
  afterEach(() => service.close());

  const open = (name: string) =>
    openShowrunner({ baseUrl: service.baseUrl, apiKey: service.apiKey, journal: join(folder, name, "journal.db") });

  /** Up to the approval, then more than a day. */
  async function waitTooLong(name: string, keep: boolean): Promise<RunResult> {
    const show = await open(name);
    const run = await show.run(gated(keep), {}, { id: "x", outDir: join(folder, name, "out"), concurrency: 1 });
    const paused = await run.result();
    await show.close();
    expect(paused.pause?.reason).toBe("approval");
    await service.clock.advance(25 * hourMs);
    return paused;
  }

  /** Approved by another process, which then goes on. */
  async function approved(name: string) {
    const show = await open(name);
    await show.approve("x", "look");
    const done = await (await show.resume("x")).result();
    const events: string[] = [];
    for await (const { event } of show.events("x")) events.push(event.type);
    await show.close();
    return { done, events };
  }

  test("is healed from the copy: uploaded again for free, once, and nothing is paid again [G17]", async () => {
    const paused = await waitTooLong("copied", true);
    const completedAt = Date.parse(paused.report.steps[0]?.finished_at ?? "");
    const expiring = { step: "face", index: 0, needed_by: ["look", "poster"], copied: true };
    expect(paused.report.expiring).toMatchObject([expiring]);
    const { expires_at } = paused.report.expiring[0]!;
    expect(Math.abs(Date.parse(expires_at) - completedAt - 24 * hourMs)).toBeLessThan(hourMs);
    const before = service.stats();

    const { done, events } = await approved("copied");
    const { jobs_created, charged_micros, requests } = service.stats();
    expect([done.status, done.report.expiring, jobs_created]).toEqual(["succeeded", [], 3]);
    // The poster costs what the card did, and is all that is charged after the wait.
    expect(charged_micros).toBe(2 * before.charged_micros - faceMicros);
    expect(requests["POST /files"]?.["201"]).toBe((before.requests["POST /files"]?.["201"] ?? 0) + 1);
    expect(attemptsOf(done)).toEqual({ face: 1, look: 0, poster: 1, card: 1 });
    expect(events).toContain("output.lapsed");
    expect(requests["POST /models/{model}/jobs"]?.["400"]).toBeUndefined();
  });

  test("skips its dependents when there is no copy, as announced; nothing is paid again [G13]", async () => {
    const paused = await waitTooLong("uncopied", false);
    expect(paused.report.expiring).toMatchObject([{ step: "face", needed_by: ["look", "poster"], copied: false }]);
    const charged = service.stats().charged_micros;
    const { done } = await approved("uncopied");
    expect([done.status, service.stats().charged_micros]).toEqual(["partial", charged]);
    const reason = expect.stringContaining("expired");
    expect(stepOf(done, "poster")).toMatchObject({ status: "skipped", attempts: [], reason });
  });
});

const three = pipelineOf("three", ({ job }) => {
  const all = ["a", "b", "c"].map((name) => job(name, models.image, { prompt: name }));
  return { next: job("next", models.image, { prompt: "next", images: all }), all };
});

test("Outputs that are not here yet are downloaded before any new submit, the first to expire first [G12]", async () => {
  const clock = new SimulatedClock();
  let made = 0;
  // One after the other, so that their outputs have different ages.
  const sleep = () => new Promise<void>((resolve) => void clock.setTimer(++made * 10 * minuteMs, resolve));
  let full = true;
  let [submits, downloads]: [number[], number[]] = [[], []];
  const levelOf = (priority: Priority = 0) => (typeof priority === "number" ? priority : priority.level);
  const { show, outDir, resume } = await openFakeShow({
    ...{ clock, sleep },
    client: ({ download, submit }) => ({
      download: (source, path, options) => {
        if (full) return Promise.reject(new ConnectionError("the network is down", { sent: false }));
        downloads.push(levelOf(options?.priority));
        return download(source, path, options);
      },
      submit: (request, options) => {
        submits.push(levelOf(options?.priority));
        return submit(request, options);
      },
    }),
  });
  const patient = { concurrency: 1, giveUpAfterMs: Number.POSITIVE_INFINITY };
  const run = await show.run(three, {}, { id: "x", outDir, ...patient });
  clock.setTimer(35 * minuteMs, () => void run.stop());
  const stopped = await during(clock, run.result());
  expect(stopped.pause?.reason).toBe("stopped");
  // A stop fetches nothing: what is only on the service is listed, the first to go first.
  const waiting = stopped.report.expiring.filter(({ copied }) => !copied);
  expect(waiting.length).toBe(2);
  expect([...waiting].sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1))).toEqual(waiting);

  full = false;
  [submits, downloads] = [[], []];
  expect([(await resume()).status, downloads.length]).toEqual(["succeeded", 4]);
  expect(Math.min(...downloads)).toBeGreaterThan(Math.max(...submits));
  expect(downloads[0]).not.toBe(downloads[1]);
});

describe("An output that the service says it does not have", () => {
  const refusals = {
    "a job that nobody knows": () => apiError(404, "NOT_FOUND"),
    "an output without a URL": () => new DownloadError("there is nothing to download", { reason: "no-url" }),
    "bytes that are refused": () => new DownloadError("answered 400", { reason: "refused", status: 400 }),
  };

  /** Every download is refused while `refusal` says so. */
  async function openRefusing(refusal: () => Error | null) {
    const at: number[] = [];
    const world = await openFakeShow({
      client: ({ download }) => ({
        download: (source, path, options) => {
          at.push(world.clock.now());
          const refused = refusal();
          return refused === null ? download(source, path, options) : Promise.reject(refused);
        },
      }),
    });
    return { ...world, at };
  }

  const one = pipelineOf("one", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));

  test.each(Object.entries(refusals))(
    "%s: is missing everywhere until a plain resume fetches it",
    async (_, refuse) => {
      let refusal: Error | null = refuse();
      const { show, clock, at, paidService, resume, run } = await openRefusing(() => refusal);
      const paused = await run(one);
      const isCertain = refusal instanceof DownloadError && refusal.reason === "refused";
      const askedForMs = at.at(-1)! - at[0]!;
      if (isCertain) expect(at.length).toBe(1);
      else expect([askedForMs >= 2 * minuteMs, askedForMs < 3 * minuteMs, at.length > 4]).toEqual([true, true, true]);
      expect(paused.pause?.reason).toBe("files");
      const until = new Date(clock.now() + 24 * hourMs).toISOString().slice(0, 10);
      const message = new RegExp(`^a: output 0 was not downloaded.*${until}.*for free, run: showrunner resume x$`);
      expect(await show.show("x")).toMatchObject({
        ...{ status: "paused", message: expect.stringMatching(message), next: { command: "showrunner resume x" } },
        expiring: [{ step: "a", index: 0, copied: false }],
        steps: [{ status: "running", finished_at: null }],
      });
      refusal = null;
      expect([(await resume()).status, paidService.jobs.size]).toEqual(["succeeded", 1]);
      expect((await show.show("x")).steps[0]).toMatchObject({ status: "succeeded", reason: null });
    },
  );

  test("has expired once the service need not keep it any more, which has words and a command of its own", async () => {
    const { show, clock, run, resume } = await openRefusing(() => apiError(404, "NOT_FOUND"));
    await run(one);
    await clock.advance(24 * hourMs);
    expect((await resume()).status).toBe("failed");
    expect(await show.show("x")).toMatchObject({
      message: "a: output 0 expired on the service before it was downloaded",
      next: {
        command: "showrunner resume x --rerun a",
        note: "reruns the steps whose outputs expired before they were downloaded; each is charged again",
      },
      expiring: [],
    });
  });

  test("does not expire because a proxy answers in the service's place", async () => {
    let refusal: Error | null = apiError(413, "UNKNOWN", {}, false);
    const { clock, paidService, run, resume } = await openRefusing(() => refusal);
    await run(one);
    await clock.advance(24 * hourMs);
    expect((await resume()).pause?.reason).toBe("files");
    refusal = null;
    expect([(await resume()).status, paidService.jobs.size]).toEqual(["succeeded", 1]);
  });

  test("still feeds its dependents, and is downloaded when the run is resumed", async () => {
    let refusal: Error | null = apiError(404, "NOT_FOUND");
    const world = await openRefusing(() => refusal);
    const paused = await world.run(gated(true));
    expect([paused.pause?.reason, world.paidService.jobs.size]).toEqual(["approval", 2]);
    refusal = null;
    await world.show.approve("x", "look");
    expect((await world.resume()).status).toBe("succeeded");
    const events = await eventsOf(world);
    const downloaded = events.flatMap((event) => (event.type === "output.downloaded" ? [event.step] : []));
    expect(downloaded.sort()).toEqual(["card", "face", "poster"]);
    expect(events.map(({ type }) => type)).not.toContain("output.expired");
  });

  test("is waited for by the pipeline's own code that reads it", async () => {
    const read = pipelineOf("read", ({ job, task }) => {
      const a = job("a", models.image, { prompt: "a" });
      return { seen: task("look", { a }, () => "seen").value };
    });
    let refusal: Error | null = apiError(404, "NOT_FOUND");
    const { paidService, run, resume } = await openRefusing(() => refusal);
    expect((await run(read)).pause?.reason).toBe("files");
    refusal = null;
    const done = await resume({ pipeline: read });
    expect([done.status, done.outputs, paidService.jobs.size]).toEqual(["succeeded", { seen: "seen" }, 1]);
  });
});
