import { readdir, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createRenderer } from "../../../src/local-service/render/index.ts";
import { WorkerPool } from "../../../src/local-service/render/pool.ts";
import { openBench } from "./bench.ts";

const { render, request, path, folder, media } = await openBench();
const film = { prompt: "hills", resolution: "720p", aspect_ratio: "16:9", duration_ms: 15_000 };
/** A time at which the film is under way, in milliseconds. */
const UNDER_WAY_MS = 1_000;

describe("the pool of render workers", () => {
  test("rejects the request of a worker that dies, and serves the next one with a new worker", async () => {
    const started: { terminate(): Promise<number> }[] = [];
    const pool = new WorkerPool(1, (worker) => worker.on("online", () => started.push(worker)));
    const deadFilm = request("dead.mp4", { kind: "video", input: film });
    const dying = pool.run({ type: "render", request: deadFilm, tempPath: path("dead.part") });
    setTimeout(() => void started[0]?.terminate(), UNDER_WAY_MS);
    await expect(dying).rejects.toMatchObject({ code: "RENDER_WORKER_LOST" });
    await writeFile(path("words.txt"), "words");
    expect(await pool.run({ type: "probe", path: path("words.txt") })).toMatchObject({ ok: false });
    expect(started).toHaveLength(2);
    await pool.close();
  });

  test("an abort stops the work, leaves no file behind, and the renderer goes on", async () => {
    const options = { signal: AbortSignal.timeout(UNDER_WAY_MS) };
    const aborted = render("stopped.mp4", { kind: "video", input: film }, options);
    await expect(aborted).rejects.toMatchObject({ code: "RENDER_ABORTED" });
    expect((await readdir(folder)).filter((name) => name.startsWith("stopped"))).toEqual([]);
    const after = await render("after.png", { kind: "image", input: { prompt: "a cat" } });
    expect(after).toMatchObject({ contentType: "image/png" });
  });

  test("a task that takes longer than it may is ended, and the next one is served", async () => {
    const pool = new WorkerPool(1);
    const task = { type: "render", request: request("slow.mp4", { kind: "video", input: film }) } as const;
    const slow = pool.run({ ...task, tempPath: path("slow.part") }, { timeLimitMs: UNDER_WAY_MS });
    await writeFile(path("words.txt"), "words");
    const waiting = pool.run({ type: "probe", path: path("words.txt") });
    const message = "rendering was stopped: the renderer took longer than 1000 ms";
    await expect(slow).rejects.toMatchObject({ code: "RENDER_ABORTED", message });
    expect(await waiting).toMatchObject({ ok: false, reason: expect.stringMatching(/accepted format/) });
    await pool.close();
  });

  test("a signal that was aborted before is never started", async () => {
    const failing = render("never.png", { kind: "image" }, { signal: AbortSignal.abort() });
    await expect(failing).rejects.toMatchObject({ code: "RENDER_ABORTED" });
  });

  test("a waiting request can be aborted without touching the one under way", async () => {
    const renderer = createRenderer({ workers: 1 });
    const stop = new AbortController();
    const dog = { kind: "image", input: { prompt: "a dog" } } as const;
    const first = renderer.render(request("first.png", dog));
    const second = renderer.render(request("second.png", dog), { signal: stop.signal });
    stop.abort();
    await expect(second).rejects.toMatchObject({ code: "RENDER_ABORTED" });
    expect(await first).toMatchObject({ contentType: "image/png" });
    await renderer.close();
  });

  test("a failed request leaves the worker usable and no file", async () => {
    const images = [{ ...media("absent", "image/png"), width: 1, height: 1 }];
    const bad = render("bad.png", { kind: "image", input: { prompt: "x" }, media: { images } });
    await expect(bad).rejects.toMatchObject({ name: "RenderError" });
    expect((await readdir(folder)).filter((name) => name.startsWith("bad"))).toEqual([]);
  });

  test("closing rejects what is under way and refuses what comes after", async () => {
    const renderer = createRenderer({ workers: 1 });
    const running = renderer.render(request("closed.mp4", { kind: "video", input: film }));
    setTimeout(() => void renderer.close(), UNDER_WAY_MS);
    await expect(running).rejects.toMatchObject({ code: "RENDER_ABORTED" });
    const late = renderer.render(request("late.png", { kind: "image" }));
    await expect(late).rejects.toMatchObject({ code: "RENDER_ABORTED" });
  });
});
