import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startLocalService } from "../../../src/local-service/index.ts";
import { startRacers } from "./fixtures/racers.ts";

const folder = mkdtempSync(join(tmpdir(), "four-processes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("A spending cap holds across four processes: exactly 73 are submitted in all [G23]", async () => {
  const service = await startLocalService({ renderer: "stub", rateLimit: { requests: 1e6, windowMs: 60_000 } });
  const home = mkdtempSync(join(folder, "processes-"));
  const { baseUrl, apiKey } = service;
  const cap = ((73 * 20_000) / 1_000_000).toFixed(2);
  const racers = await startRacers(4, { baseUrl, apiKey, folder: home, count: 50, spendingCap: cap });
  try {
    const outcomes = await racers.race();
    expect(service.stats().jobs_created, JSON.stringify(outcomes)).toBe(73);
    expect(service.stats().charged_micros).toBe(73 * 20_000);
    expect(outcomes.filter(({ pause }) => pause === "budget").length, JSON.stringify(outcomes)).toBeGreaterThanOrEqual(
      3,
    );
  } finally {
    racers.end();
    await service.close();
  }
}, 300_000);

test("Four processes under a cap of a day and one of a tag: exactly as many as both allow [G24]", async () => {
  const service = await startLocalService({ renderer: "stub", rateLimit: { requests: 1e6, windowMs: 60_000 } });
  const home = mkdtempSync(join(folder, "processes-"));
  const usd = (jobs: number) => ((jobs * 20_000) / 1_000_000).toFixed(2);
  const { baseUrl, apiKey } = service;
  // Two of the processes carry each team.
  const caps = [
    { usd: usd(73), per: "day" as const },
    { usd: usd(20), per: "day" as const, tag: "team=0" },
  ];
  const racers = await startRacers(4, { baseUrl, apiKey, folder: home, count: 50, caps, teams: 2 });
  try {
    const outcomes = await racers.race();
    expect(service.stats().jobs_created, JSON.stringify(outcomes)).toBe(73);
    const reasons = outcomes.map(({ pause }) => pause);
    expect(reasons.filter((reason) => reason === "cap").length, JSON.stringify(outcomes)).toBeGreaterThanOrEqual(3);
  } finally {
    racers.end();
    await service.close();
  }
}, 300_000);
