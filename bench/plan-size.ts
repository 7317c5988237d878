/**
 * How long planning takes as pipelines grow: `node bench/plan-size.ts`. Fails when 10,000 steps, of jobs or of every kind,
 * take a second or more, or when a step of the largest pipeline costs over twice what one of the smallest does.
 */
import { z } from "zod";
import { models } from "../recipes/models.ts";
import { draft, type Media, type Pipeline, pipeline, text } from "../src/define/index.ts";
import { criticalPath, makePlan } from "../src/plan/index.ts";
import { builtInCatalog } from "../test/support/built-in-catalog.ts";

const catalog = builtInCatalog();
const ROUNDS = 5;

/** Chains of image → video, each picture referring to the one before: as many edges as steps. */
const storyboard = pipeline("storyboard", {
  input: z.object({ shots: z.number() }),
  build({ input, job }) {
    let before: Media<"image"> | null = null;
    const videos = [];
    for (let shot = 0; shot < input.shots; shot++) {
      const prompt = `shot ${shot} of a long story`;
      const picture: Media<"image"> = job(`picture-${shot}`, models.image, {
        prompt,
        ...(before !== null && { images: [before] }),
      });
      const settings = { aspect_ratio: "16:9", duration_ms: 3000 } as const;
      videos.push(job(`video-${shot}`, models.video, { start_image: picture, prompt, ...settings }));
      before = picture;
    }
    return { videos };
  },
});

const scenes = z.object({ scenes: z.array(z.object({ prompt: z.string(), seed: z.int() })) });

/** Ten steps a scene, of every kind, each using values of one chat. */
const everyKind = pipeline("every-kind", {
  input: z.object({ shots: z.number() }),
  build({ input, approve, chat, choose, expand, job, takes, task }) {
    const made = [];
    for (let shot = 0; shot < input.shots / 5; shot++) {
      const story = chat(`story-${shot}`, "chat-1", { prompt: `chapter ${shot}` }, { schema: scenes, maxCost: "0.1" });
      const scene = story.at("scenes").at(0);
      const prompt = text`scene ${shot}: ${scene.at("prompt")}`;
      const drawn = job(`drawn-${shot}`, models.image, { prompt, seed: scene.at("seed") });
      const best = takes(`best-${shot}`, models.image, { prompt, images: [drawn] }, { count: 2, choose: "first" });
      const seen = approve(`seen-${shot}`, choose(`which-${shot}`, [best, drawn], { by: "person" }));
      const more = expand(`more-${shot}`, story.at("scenes"), () => [], { maxSteps: 9, yields: "image" });
      job(`poster-${shot}`, models.image, { prompt, images: [seen] });
      const files = { film: "video" } as const;
      made.push(task(`cut-${shot}`, { seen, more, title: scene.at("prompt") }, () => 1, { files }));
    }
    return { made };
  },
});

/** The best of some rounds: the others only tell what else the machine had to do. */
function planMs(steps: number, planned: Pipeline = storyboard): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    const { draft: drafted } = draft(planned, { shots: steps / 2 });
    const made = makePlan(drafted!, { catalog, files: new Map() });
    if (!made.ok || made.plan.steps.length !== steps) throw new Error("the bench's own pipeline has problems");
    criticalPath(made.plan, () => 1000);
    return performance.now() - started;
  });
  return Math.min(...times);
}

planMs(1000);
const measured = [1_000, 10_000, 100_000].map((steps) => ({ steps, ms: planMs(steps) }));
for (const { steps, ms } of measured) {
  const perStep = ((ms * 1000) / steps).toFixed(1);
  console.log(`${String(steps).padStart(7)} steps ${ms.toFixed(0).padStart(6)} ms  ${perStep.padStart(6)} µs a step`);
}
const mixed = planMs(10_000, everyKind);
console.log(`  10000 steps of every kind ${mixed.toFixed(0)} ms`);
const [small, middle, large] = measured;
const growth = large!.ms / large!.steps / (small!.ms / small!.steps);
console.log(`a step of the largest costs ${growth.toFixed(2)} times one of the smallest`);
process.exitCode = middle!.ms < 1000 && mixed < 1000 && growth < 2 ? 0 : 1;
