import { type PlantedStep, plantRun } from "./planted.ts";
import type { Served } from "./serve.ts";

/** Adds runs in every state that the screens distinguish. */
export async function plantHarbour(served: Served): Promise<void> {
  const [dusk, noon, fog] = await Promise.all([20, 150, 260].map((hue) => served.picture(hue)));
  const tall = await served.picture(40, { width: 180, height: 320 });
  const { journal } = served;
  await plantRun(journal, {
    id: "harbour-42",
    pipeline: "harbour-film",
    steps: [
      { path: "look", model: "paint/fine", outputs: [dusk!], prompt: "a harbour at dusk" },
      { path: "keeper", outputs: [tall], prompt: "the keeper, front view" },
      { path: "scene", needs: ["look", "keeper"], outputs: [noon!, fog!] },
      { path: "choose", kind: "approve", needs: ["scene"], state: "asked", prompt: "Which one begins the film?" },
      { path: "film", model: "film/long", yields: "video", needs: ["scene"], state: "rendering" },
      { path: "storm", needs: ["look"], state: "failed" },
      { path: "end", yields: "video", model: "film/long", needs: ["film", "choose"], state: "waiting" },
    ],
  });
  await journal.setProgress("harbour-42", {
    step: "film",
    fraction: 0.42,
    estimatedCompletionAt: Date.now() + 3_600_000,
  });
  await plantRun(journal, {
    id: "poster-done",
    pipeline: "poster",
    end: "succeeded",
    steps: [{ path: "poster", outputs: [fog!] }],
  });
  await plantRun(journal, {
    id: "poster-broken",
    pipeline: "poster",
    end: "failed",
    steps: [{ path: "poster", state: "failed" }],
  });
  await plantRun(journal, {
    id: "poster-short",
    pipeline: "poster",
    tags: { client: "acme" },
    budgetTag: "client=acme",
    budgetMicros: 1_234_500_000,
    pause: { reason: "funds", message: "The wallet is short. Continue: showrunner resume poster-short" },
    steps: [
      { path: "poster", outputs: [dusk!] },
      { path: "print", state: "waiting" },
    ],
  });
  const gardener = await plantRun(journal, { id: "damaged", steps: [{ path: "a", state: "waiting" }] });
  await gardener.add({ type: "job.completed", step: "a", attempt: 7, outputs: [] });
}

/** Adds a run with this many steps: half of them stills, and half clips made from these stills. */
export async function plantMany(served: Served, count: number): Promise<void> {
  const still = await served.picture(90);
  const half = count / 2;
  const steps = Array.from({ length: half }, (_, index): PlantedStep[] => [
    {
      path: `shot-${index}/still`,
      outputs: index < half * 0.6 ? [still] : [],
      state: index < half * 0.6 ? "done" : "waiting",
    },
    {
      path: `shot-${index}/clip`,
      model: "film/long",
      yields: "video",
      needs: [`shot-${index}/still`],
      state: index < half * 0.3 ? "done" : "waiting",
    },
  ]);
  await plantRun(served.journal, { id: "many", pipeline: "catalogue", tempoMs: 10, steps: steps.flat() });
}
