import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { openDashboard } from "./support/browse.ts";

const shot = { aspect_ratio: "16:9", duration_ms: 3000 } as const;

const look = pipeline("look", {
  input: z.object({}),
  build: ({ compare }) => ({
    look: compare("look", {
      plain: (b) => b.job("made", models.video, { ...shot, prompt: "a lighthouse" }),
      large: (b) => {
        const video = b.job("made", models.video, { ...shot, prompt: "a lighthouse, far away" });
        return b.job("enlarged", models.upscale, { source_video: video, scale: 2 }, { maxCost: "1" });
      },
      gone: (b) => b.job("made", models.video, { ...shot, prompt: "a lost lighthouse" }),
    }),
  }),
});

const { service, seen, page, run } = await openDashboard({ balance: 100 });

test("a comparison shows under each take its part, model, cost and time, and says what made nothing and why", async () => {
  service.faults([{ kind: "fail_job", prompt: "lost", retryable: false }]);
  expect((await run(look, {}, { id: "lighthouse", budget: "5" })).pause?.reason).toBe("approval");
  for (const [path, region] of [
    ["/review", "The decision"],
    ["/runs/lighthouse/graph?step=look%2Fpick", "Decision"],
  ] as const) {
    await seen.go(path);
    const shown = page.getByRole("region", { name: region, exact: true });
    const takes = shown.getByRole("listitem");
    await takes.filter({ hasText: /plain, video-1, \$0\.\d+, [\d.]+ m?s/ }).waitFor();
    await takes.filter({ hasText: /large, video-1, upscale-1, \$0\.\d+, [\d.]+ m?s/ }).waitFor();
    const notMade = shown.getByText("produced nothing to choose");
    expect(await notMade.count()).toBe(1);
    expect(await notMade.textContent()).toMatch(/^gone produced nothing to choose \(video-1, .*\): look\/gone\/made/);
  }
});
