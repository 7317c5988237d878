import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { file, type Pipeline, pipeline, quorum, type RunEvent, type RunHandle } from "../../../src/index.ts";
import { models, PIXEL, pipelineOf, statusesOf, stepOf } from "../../support/engine.ts";
import { localShow } from "../../support/local-show.ts";

const SPEED = 50;
const world = localShow({ speed: SPEED, balance: 1000, rateLimit: { requests: 1_000_000, windowMs: 60_000 } });
const through = (what: Pipeline, input: unknown = {}, concurrency = 8) => world.run(what, input, { concurrency });
beforeEach(() => world.service.faults([]));

/** Waits until so many events of a kind have happened. */
function eventsOf(run: RunHandle) {
  const updates = run.events()[Symbol.asyncIterator]();
  return async (isWanted: (event: RunEvent) => boolean, count: number) => {
    for (let found = 0; found < count; ) {
      const { value, done } = await updates.next();
      if (done) throw new Error("The run is over.");
      if (!("type" in value) && isWanted(value.event)) found++;
    }
  };
}

/** Three clips, and a film of those that there are. */
const film = (onFailure: "continue" | "failFast" | ReturnType<typeof quorum>) =>
  pipelineOf("film", ({ job }) => {
    const clips = ["one", "two", "three"].map((name) => job(name, models.image, { prompt: `clip ${name}` }));
    return { clips, film: job("film", models.image, { prompt: "the film", images: clips }, { onFailure }) };
  });

describe("on the local service", () => {
  test("continue: dependents of a refunded failure are skipped with its reason; the rest is produced, named and charged once", async () => {
    world.service.faults([{ kind: "fail_job", prompt: "clip two", retryable: false }]);
    const before = world.service.stats();
    const result = await through(film("continue"));
    expect(result.status).toBe("partial");
    expect(statusesOf(result)).toEqual({ one: "succeeded", two: "failed", three: "succeeded", film: "skipped" });
    expect(stepOf(result, "two").reason).toContain("INTERNAL");
    expect(stepOf(result, "film").reason).toBe("needs two, which failed");
    const { clips } = result.outputs as { readonly clips: readonly ({ readonly path: string } | null)[] };
    expect(clips.map((clip) => clip !== null)).toEqual([true, false, true]);
    await expect(readFile(clips[0]!.path)).resolves.toBeInstanceOf(Buffer);
    const after = world.service.stats();
    expect(after.jobs_created - before.jobs_created).toBe(3);
    const spent = after.charged_micros - after.refunded_micros - (before.charged_micros - before.refunded_micros);
    expect(result.cost.micros).toBe(spent);
  });

  test("quorum: the film is made of the two available clips, and the run lists what is missing", async () => {
    world.service.faults([{ kind: "fail_job", prompt: "clip two", retryable: false }]);
    const result = await through(film(quorum(2)));
    expect(statusesOf(result)).toEqual({ one: "succeeded", two: "failed", three: "succeeded", film: "succeeded" });
    expect(result.status).toBe("partial");
  });

  test("failFast: nothing is submitted any more, what is on the service is collected, all of it stays listed [G18]", async () => {
    world.service.faults([{ kind: "fail_job", prompt: "bad", retryable: false }]);
    const fast = pipelineOf(
      "fast",
      ({ job }) => {
        const bad = job("bad", models.image, { prompt: "bad" });
        const film = { prompt: "slow", duration_ms: 4000, aspect_ratio: "16:9", resolution: "720p" } as const;
        const slow = job("slow", models.video, film);
        const after = [1, 2, 3].map((n) => job(`after-${n}`, models.image, { prompt: `${n}` }, { after: [slow] }));
        return { bad, slow, after };
      },
      { onFailure: "failFast" },
    );
    const before = world.service.stats().jobs_created;
    // Time stands still until both are accepted, and goes on for the film only once the failure is known.
    world.service.clock.manual();
    const run = await world.show.run(fast, {}, { id: "fast", outDir: join(world.folder, "fast") });
    const happened = eventsOf(run);
    await happened((event) => event.type === "job.submitted", 2);
    await world.service.clock.advance(5000 / SPEED);
    await happened((event) => event.type === "step.finished", 1);
    world.service.clock.real();
    const result = await run.result();
    expect(statusesOf(result)).toEqual({
      ...{ bad: "failed", slow: "succeeded", "after-1": "cancelled", "after-2": "cancelled", "after-3": "cancelled" },
    });
    expect(result).toMatchObject({ status: "partial", report: { held: "0.00" } });
    expect(world.service.stats().jobs_created - before).toBe(2);
    expect(stepOf(result, "after-1").reason).toBe("bad failed, which stops the run");
    expect(stepOf(result, "slow")).toMatchObject({
      attempts: [{ n: 1, status: "completed" }],
      outputs: [{ status: "COMPLETED", sha256: expect.any(String), file: "slow.mp4" }],
    });
  });

  test("a job with failed outputs is partial and never success; its completed outputs are stored and paid pro rata", async () => {
    world.service.faults([{ kind: "fail_output", outputs: [1] }]);
    const faces = pipelineOf("faces", ({ job }) => {
      const made = job("faces", models.image, { prompt: "faces", num_outputs: 3 });
      return { faces: made.outputs() };
    });
    const result = await through(faces);
    expect(result).toMatchObject({ status: "partial", outputs: { faces: [{}, {}] } });
    const file = expect.any(String);
    const made = { status: "COMPLETED", file };
    const failed = { status: "FAILED", file: null };
    expect(stepOf(result, "faces")).toMatchObject({ status: "partial", outputs: [made, failed, made] });
  });

  test("an upload whose handle expired is sent again under a new one and the same key: one job, one charge", async () => {
    const picture = join(world.folder, "picture.png");
    await writeFile(picture, PIXEL);
    const late = pipeline("late", {
      input: z.object({ picture: file("image") }),
      build({ input, job, upload, approve }) {
        const sent = upload("sent", input.picture);
        const gate = approve("gate", sent);
        return { made: job("made", models.image, { prompt: "from it", images: [gate] }) };
      },
    });
    const waits = await through(late, { picture });
    expect(waits.pause?.reason).toBe("approval");
    const uploads = () =>
      Object.values(world.service.stats().requests["POST /files"] ?? {}).reduce((sum, n) => sum + n, 0);
    const [before, sent] = [world.service.stats().jobs_created, uploads()];
    await world.service.clock.advance(2 * 3_600_000);
    await world.show.approve(waits.id, "gate");
    const result = await (await world.show.resume(waits.id)).result();
    expect([result.status, world.service.stats().jobs_created - before]).toEqual(["succeeded", 1]);
    const events: string[] = [];
    for await (const { event } of world.show.events(waits.id)) events.push(event.type);
    expect(events.filter((type) => type === "job.submit.intended")).toHaveLength(1);
    expect(events).not.toContain("job.submit.refused");
    expect(uploads() - sent).toBeGreaterThan(0);
  });
});
