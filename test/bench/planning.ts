/**
 * Pipelines as code: how long they take to be planned as they grow, to be type-checked against the declarations that a user
 * installs, and to be made out of bodies of v2.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";
import { draft, type Media, type Pipeline, pipeline, text } from "../../src/core/define/index.ts";
import { criticalPath, makePlan } from "../../src/core/plan/index.ts";
import { migrateV2, migrationFiles } from "../../src/migrate/index.ts";
import { builtInCatalog } from "../support/built-in-catalog.ts";
import { cpuMs, type Report } from "./harness.ts";

const catalog = builtInCatalog();

export function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): void {
  const rounds = quick ? 2 : 5;
  planTimes(storyboard, 1_000, 1);
  const sizes = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];
  // The best of the rounds: the others only tell what else the machine had to do.
  const points = sizes.map((size) => ({ size, value: Math.min(...planTimes(storyboard, size, rounds)) }));
  report.curve("Planning", "chains of pictures and videos", "ms", points, { most: 1.15 });
  report.figure("Planning", "10,000 jobs", "ms", planTimes(storyboard, 10_000, rounds), { most: 1_000 });
  report.figure("Planning", "10,000 steps of every kind", "ms", planTimes(everyKind, 10_000, rounds), { most: 1_000 });
  checkTypes(report, rounds);
  migrate(report, quick ? 1_000 : 10_000);
}

/** Chains of image → video, each picture referring to the one before: as many edges as steps. */
const storyboard = pipeline("storyboard", {
  input: z.object({ shots: z.number() }),
  build({ input, job }) {
    let before: Media<"image"> | null = null;
    const videos = [];
    for (let shot = 0; shot < input.shots; shot++) {
      const prompt = `shot ${shot} of a long story`;
      const picture: Media<"image"> = job(`picture-${shot}`, "image-1", {
        prompt,
        ...(before !== null && { images: [before] }),
      });
      const settings = { aspect_ratio: "16:9", duration_ms: 3000 } as const;
      videos.push(job(`video-${shot}`, "video-1", { start_image: picture, prompt, ...settings }));
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
      const drawn = job(`drawn-${shot}`, "image-1", { prompt, seed: scene.at("seed") });
      const best = takes(`best-${shot}`, "image-1", { prompt, images: [drawn] }, { count: 2, choose: "first" });
      const seen = approve(`seen-${shot}`, choose(`which-${shot}`, [best, drawn], { by: "person" }));
      const more = expand(`more-${shot}`, story.at("scenes"), () => [], { maxSteps: 9, yields: "image" });
      job(`poster-${shot}`, "image-1", { prompt, images: [seen] });
      const files = { film: "video" } as const;
      made.push(task(`cut-${shot}`, { seen, more, title: scene.at("prompt") }, () => 1, { files }));
    }
    return { made };
  },
});

function planTimes(planned: Pipeline, steps: number, rounds: number): number[] {
  return Array.from({ length: rounds }, () => {
    const startedAt = performance.now();
    const { draft: drafted } = draft(planned, { shots: steps / 2 });
    const made = makePlan(drafted!, { catalog, files: new Map() });
    if (!made.ok || made.plan.steps.length !== steps) throw new Error("the bench's own pipeline has problems");
    criticalPath(made.plan, () => 1000);
    return performance.now() - startedAt;
  });
}

/** Ten steps a shot, of every kind. */
function source(steps: number): string {
  const lines = Array.from({ length: steps / 10 }, (_, shot) => {
    const before =
      shot === 0 ? "" : `, images: [face${shot - 1}, ...(input.look === "" ? [] : [face${shot - 1}.output(0)])]`;
    return `
    const voice${shot} = job("voice-${shot}", models.voiceClone, { audio: upload("sample-${shot}", input.sample), name: "n" });
    const story${shot} = chat("story-${shot}", "chat-1", { prompt: text\`about \${input.look}\` }, { schema: z.object({ title: z.string(), scenes: z.array(z.object({ prompt: z.string() })) }) });
    const speech${shot} = job("speech-${shot}", models.speech, { text: story${shot}.at("title"), voice_id: voice${shot} });
    const face${shot} = job("face-${shot}", models.image, { prompt: story${shot}.at("scenes").at(0).at("prompt"), quality: "pro", num_outputs: 2${before} });
    const video${shot} = job("video-${shot}", models.avatar, {
      start_image: face${shot}.output(1), audio: speech${shot}, prompt: "talks", aspect_ratio: "9:16", resolution: "720p",
    });
    const seen${shot} = approve("seen-${shot}", choose("which-${shot}", face${shot}.outputs(), { by: "person" }));
    const best${shot} = takes("best-${shot}", models.image, { prompt: "x", images: [seen${shot}] }, { count: 1, choose: (one) => one.sizeBytes });
    const shots${shot} = expand("shots-${shot}", story${shot}.at("scenes"), (scenes, b) => scenes.map(({ prompt }, n) => b.job(\`s-\${n}\`, models.image, { prompt })), { maxSteps: 9 });
    const film${shot} = task("film-${shot}", { video: video${shot}, shots: shots${shot}, best: best${shot}, title: story${shot}.at("title") }, async ({ shots, title }) => ({ title, count: shots.length }), { files: { film: "video" } });`;
  });
  const names = lines.map((_, shot) => `film${shot}, story${shot}`).join(", ");
  return `import { file, pipeline, text, type ResultOf } from "showrunner";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
export const long = pipeline("long", {
  input: z.object({ script: z.string(), look: z.string(), sample: file("audio") }),
  build({ input, approve, chat, choose, expand, job, takes, task, upload }) {
    void [input, approve, chat, choose, expand, job, takes, task, upload, models, text];${lines.join("")}
    return { ${names} };
  },
});
export type Result = ResultOf<ReturnType<typeof long.build>>;
`;
}

/** The whole check of 200 typed steps of every kind; the same file without steps tells what is the pipeline's own. */
function checkTypes(report: Report, rounds: number): void {
  const root = resolve(import.meta.dirname, "../..");
  const tsc = join(root, "node_modules", ".bin", "tsc");
  const folder = mkdtempSync(join(root, "test", "bench", ".types-"));
  try {
    const emit = ["--emitDeclarationOnly", "--outDir", join(folder, "declared")];
    execFileSync(tsc, ["-p", join(root, "tsconfig.build.json"), ...emit]);
    const checked = (steps: number) => {
      writeFileSync(join(folder, "long.ts"), source(steps));
      const paths = { showrunner: [join(folder, "declared", "index.d.ts")] };
      const config = { extends: "../../../tsconfig.json", compilerOptions: { paths }, include: [], files: ["long.ts"] };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
      return Array.from({ length: rounds }, () => {
        const startedAt = performance.now();
        execFileSync(tsc, ["-p", folder]);
        return performance.now() - startedAt;
      });
    };
    report.figure("Type check", "without steps", "ms", checked(0));
    report.figure("Type check", "with 200 steps", "ms", checked(200), { most: 2_000 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Portraits, voices, and films that use both: as batch files are in life. */
function body(index: number): object {
  const id = (kind: number, at: number) => `0000000${kind}-0000-4000-8000-${String(at).padStart(12, "0")}`;
  const group = Math.floor(index / 4);
  switch (index % 4) {
    case 0:
      return {
        type: "image",
        model_slug: "google/nano-banana-pro",
        text_prompt: `Portrait number ${group}, plain background, front view, soft light from the left`,
        aspect_ratio: "9:16",
        batch_size: 2,
        seed: group,
        reserved_asset_ids: [id(1, 2 * group), id(1, 2 * group + 1)],
      };
    case 1:
      return {
        type: "voice_clone",
        audio_id: id(2, group % 10),
        name: `speaker ${group}`,
        reserved_asset_id: id(3, group),
      };
    case 2:
      return {
        type: "video",
        model_slug: "together/hedra-avatar",
        start_keyframe_id: id(1, 2 * group + 1),
        audio_generation: {
          type: "text_to_speech",
          voice_id: id(3, group),
          text: `Good evening from studio ${group}. Tonight the lights come on by themselves.`,
          language: "English",
          stability: 0.4,
        },
        generated_video_inputs: { text_prompt: "talks to the camera", resolution: "720p", aspect_ratio: "9:16" },
      };
    default:
      return {
        type: "video",
        start_keyframe_id: id(1, 2 * group),
        generated_video_inputs: {
          text_prompt: "the camera moves closer",
          multi_prompt: [
            { prompt: "wide", duration_ms: 3400 },
            { prompt: "close", duration_ms: 3000 },
          ],
          resolution: "1080p",
        },
      };
  }
}

function migrate(report: Report, count: number): void {
  const bodies = JSON.stringify(Array.from({ length: count }, (_, index) => body(index)));
  const group = `${count.toLocaleString("en")} bodies of v2`;
  const before = cpuMs();
  const migration = migrateV2(bodies, { catalog });
  report.figure(group, "read and migrated, processor time", "s", (cpuMs() - before) / 1000);
  migrationFiles(migration, catalog);
  report.figure(group, "with the source written, processor time", "s", (cpuMs() - before) / 1000, { most: 10 });
}
