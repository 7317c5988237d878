import { expect, onTestFinished, test } from "vitest";
import { start } from "../../local-service/support/service.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { type Race, startRacers } from "./fixtures/racers.ts";

/** Four processes of 50 pictures each; what was bought, and why each of them stopped. */
async function race(limits: Partial<Race>) {
  const service = await start();
  const { baseUrl, apiKey } = service;
  const racers = await startRacers(4, { baseUrl, apiKey, folder: newFolder(), count: 50, ...limits });
  onTestFinished(racers.end);
  const outcomes = await racers.race();
  const { jobs_created, charged_micros } = service.stats();
  return { bought: jobs_created, charged_micros, outcomes, pauses: outcomes.map(({ pause }) => pause) };
}

const usd = (jobs: number) => ((jobs * 20_000) / 1_000_000).toFixed(2);

test("A spending cap holds across four processes: exactly 73 are submitted in all [G23]", async () => {
  const { bought, charged_micros, outcomes, pauses } = await race({ spendingCap: usd(73) });
  expect([bought, charged_micros], JSON.stringify(outcomes)).toEqual([73, 73 * 20_000]);
  expect(pauses.filter((pause) => pause === "budget").length, JSON.stringify(outcomes)).toBeGreaterThanOrEqual(3);
}, 300_000);

test("Four processes under a cap of a day and one of a tag: exactly as many as both allow [G24]", async () => {
  // Two of the processes carry each team.
  const caps = [
    { usd: usd(73), per: "day" as const },
    { usd: usd(20), per: "day" as const, tag: "team=0" },
  ];
  const { bought, outcomes, pauses } = await race({ caps, teams: 2 });
  expect(bought, JSON.stringify(outcomes)).toBe(73);
  expect(pauses.filter((pause) => pause === "cap").length, JSON.stringify(outcomes)).toBeGreaterThanOrEqual(3);
}, 300_000);
