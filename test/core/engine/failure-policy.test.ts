import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { file, type Pipeline, pipeline, quorum, type RunEvent, type RunHandle } from "../../../src/index.ts";
import { models, pipelineOf, statusesOf, stepOf } from "../../support/engine.ts";
import { localShow } from "../../support/local-show.ts";
import { PIXEL } from "../../support/tiny-media.ts";

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
    world.service.faults([{ kind: "fail_job", prompt: "clip t", retryable: false }]);
    const short = await through(film(quorum(2)));
    expect(statusesOf(short).film).toBe("skipped");
    expect(stepOf(short, "film").reason).toContain("needs 2 results but has 1");
  });

  test("quorum of the pipeline: the run has succeeded with two of three", async () => {
    world.service.faults([{ kind: "fail_job", prompt: "clip two", retryable: false }]);
    const two = (onFailure: ReturnType<typeof quorum>) =>
      pipelineOf(
        "clips",
        ({ job }) => ({
          clips: ["one", "two", "three"].map((name) => job(name, models.image, { prompt: `clip ${name}` })),
        }),
        { onFailure },
      );
    expect((await through(two(quorum(2)))).status).toBe("succeeded");
    expect((await through(two(quorum(3)))).status).toBe("partial");
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
      bad: "failed",
      slow: "succeeded",
      ...Object.fromEntries([1, 2, 3].map((n) => [`after-${n}`, "cancelled"])),
    });
    expect(world.service.stats().jobs_created - before).toBe(2);
    expect(result.status).toBe("partial");
    expect(stepOf(result, "after-1").reason).toBe("bad failed, which stops the run");
    const slow = stepOf(result, "slow");
    expect(slow.attempts).toMatchObject([{ n: 1, status: "completed" }]);
    expect(slow.outputs).toMatchObject([{ status: "COMPLETED", sha256: expect.any(String), file: "slow.mp4" }]);
    expect(result.report.held).toBe("0.00");
  });

  test("a job with failed outputs is partial and never success; its completed outputs are stored and paid pro rata", async () => {
    world.service.faults([{ kind: "fail_output", outputs: [1] }]);
    const faces = pipelineOf("faces", ({ job }) => {
      const made = job("faces", models.image, { prompt: "faces", num_outputs: 3 });
      return { faces: made.outputs() };
    });
    const result = await through(faces);
    expect(result.status).toBe("partial");
    expect(statusesOf(result)).toEqual({ faces: "partial" });
    const [step] = result.report.steps;
    expect(step!.outputs.map(({ status }) => status)).toEqual(["COMPLETED", "FAILED", "COMPLETED"]);
    expect(step!.outputs.map(({ file: name }) => name !== null)).toEqual([true, false, true]);
    expect((result.outputs as { readonly faces: readonly unknown[] }).faces).toHaveLength(2);
  });

  test("moderation and validation are never tried again, whatever the step declares; a passing failure is [G8]", async () => {
    world.service.faults([
      { kind: "fail_job", prompt: "rude", code: "MODERATION_FAILED", retryable: true },
      { kind: "fail_job", prompt: "unlucky", code: "UNAVAILABLE", retryable: true, count: 1 },
    ]);
    const both = pipelineOf("both", ({ job }) => {
      const rude = job("rude", models.image, { prompt: "rude" }, { attempts: 3 });
      return { rude, unlucky: job("unlucky", models.image, { prompt: "unlucky" }) };
    });
    const before = world.service.stats().jobs_created;
    const result = await through(both);
    expect(world.service.stats().jobs_created - before).toBe(3);
    const attempts = result.report.steps.map(({ attempts: made }) => made.map(({ status, cost }) => [status, cost]));
    expect(attempts).toEqual([
      [["failed", "0.00"]],
      [
        ["failed", "0.00"],
        ["completed", expect.stringMatching(/^0\.\d+$/)],
      ],
    ]);
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
    expect(result.status).toBe("succeeded");
    expect(world.service.stats().jobs_created - before).toBe(1);
    const events: string[] = [];
    for await (const { event } of world.show.events(waits.id)) events.push(event.type);
    expect(events.filter((type) => type === "job.submit.intended")).toHaveLength(1);
    expect(events).not.toContain("job.submit.refused");
    expect(uploads() - sent).toBeGreaterThan(0);
  });
});
