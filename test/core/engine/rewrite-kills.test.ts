import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMemoryJournal } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { FakePaidService, models, pipelineOf, points, stepOf } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { runOnFakeService } from "./fixtures/crash-world.ts";

const folder = newFolder();

const duel = pipelineOf("duel", ({ job }) => {
  const rewrite = { model: "chat-1", maxCost: "0.02" };
  const still = job("still", models.image, { prompt: "a duel" }, { onModerated: "rewrite", rewrite });
  return { poster: job("poster", models.image, { prompt: "a poster", images: [still] }) };
});

test("killed at every append and every request, a prompt is rewritten at most once, and nothing is paid for twice [G8]", async () => {
  const life = async (point: number) => {
    const paidService = new FakePaidService({
      fails: (_, body) => (body.includes("a duel") ? { code: "MODERATION_FAILED", retryable: false } : null),
      says: () => "a dance",
      chatMicros: 20_000,
    });
    const crashInjector = new CrashInjector(point);
    const world = { paidService, journal: createMemoryJournal(), dir: join(folder, `at-${point}`) };
    const result = await runOnFakeService(world, { pipeline: duel, input: {} }, crashInjector);
    await rm(world.dir, { recursive: true, force: true });
    const keys = [...paidService.jobs.values()].map(({ body }) => body.replace(/\?sig=\d+/g, ""));
    return { result, paidService, crashInjector, keys };
  };
  const calm = await life(Number.POSITIVE_INFINITY);
  expect(calm.result.status).toBe("succeeded");
  expect([calm.keys.length, calm.paidService.chats.size]).toEqual([3, 1]);
  const { count } = calm.crashInjector;
  expect(count).toBeGreaterThan(30);
  let unanswered = 0;
  for (const point of points(count, 5)) {
    const { result, paidService, crashInjector, keys } = await life(point);
    const at = `killed at ${point}: ${crashInjector.points[point - 1]}`;
    expect(paidService.chats.size, at).toBeLessThanOrEqual(1);
    expect(new Set(keys).size, at).toBe(keys.length);
    if (result.status === "succeeded") {
      expect(keys, at).toEqual(calm.keys);
      continue;
    }
    // The answer of the one rewriting was lost with the process: what it may have cost stays counted.
    expect(stepOf(result, "still/2/prompt").reason, at).toContain("not be sent again");
    expect(result.report.unconfirmed, at).toBe("0.02");
    unanswered++;
  }
  expect(unanswered).toBeGreaterThan(0);
  // From the intent to the answer in the journal: the request, and the read of its bill.
  expect(unanswered).toBeLessThanOrEqual(6);
}, 120_000);
