import { writeFile } from "node:fs/promises";
import type { ImageModelV4, SpeechModelV4, Experimental_VideoModelV4 as VideoModelV4 } from "@ai-sdk/provider";
import fc from "fast-check";
import { z } from "zod";
import { models } from "../../../../recipes/models.ts";
import { greyPng } from "../../../../src/core/kit/placeholder-media.ts";
import type { Plan } from "../../../../src/core/plan/plan.ts";
import { file, type Pipeline, pipeline, text } from "../../../../src/index.ts";
import { openFakeShow } from "../../../support/fake-showrunner.ts";
import { pipelineOf } from "../../../support/pipelines.ts";

const single = pipelineOf("single", ({ job }) => ({ cat: job("cat", models.image, { prompt: "a cat" }) }));

const chain = pipelineOf("chain", ({ job, approve }) => {
  const look = job("look", models.image, { prompt: "a look", num_outputs: 2 });
  const go = approve("go", look.output(0), { message: "go on?" });
  return {
    film: job("film", models.video, { prompt: "it walks", start_image: go, aspect_ratio: "1:1", duration_ms: 3000 }),
  };
});

const takes = pipelineOf("takes", ({ job, takes: take, choose }) => {
  const faces = take("face", models.image, { prompt: "a face" }, { count: 2, choose: "first" });
  const lead = choose("lead", faces.outputs(), { by: "person", message: "who is it?" });
  return { poster: job("poster", models.image, { prompt: "a poster", images: [lead] }) };
});

const fan = pipelineOf("fan", ({ job }) => {
  const drawn = ["a", "b", "c"].map((name) => job(name, models.image, { prompt: name }));
  return { drawn, again: job("again", models.image, { prompt: "again" }, { attempts: 2 }) };
});

const second = pipelineOf("second", ({ firstOf, job }) => {
  const look = firstOf("look", [
    (b) => b.job("a", models.image, { prompt: "a look", images: [b.job("mood", models.image, { prompt: "a mood" })] }),
    (b) =>
      b.firstOf("other", [
        (c) => c.job("b", models.image, { prompt: "another look" }),
        (c) => c.job("c", models.image, { prompt: "any look" }),
      ]),
  ]);
  return { poster: job("poster", models.image, { prompt: "a poster", images: [look] }) };
});

/** Slow jobs with a time limit of ten minutes: one that all other steps need, and two options. */
const patient = pipelineOf("patient", ({ firstOf, job }) => {
  const within = "10m";
  const still = job("still", models.image, { prompt: "a slow still" }, { within });
  const look = firstOf("look", [
    (b) => b.job("a", models.image, { prompt: "a slow look" }, { within }),
    (b) => b.job("b", models.image, { prompt: "a slow one too", images: [still] }, { within }),
    (b) => b.job("c", models.image, { prompt: "any look" }),
  ]);
  return { still, poster: job("poster", models.image, { prompt: "a poster", images: [look] }) };
});

/** The same jobs before an approval, which may be decided at any time. */
const hurried = pipelineOf("hurried", ({ firstOf, job, approve }) => {
  const look = firstOf("look", [
    (b) => {
      const mood = b.job("mood", models.image, { prompt: "a slow mood" }, { within: "2m" });
      return b.job("a", models.image, { prompt: "a look", images: [mood] });
    },
    (b) => b.job("b", models.image, { prompt: "another look" }),
  ]);
  const go = approve("go", look, { message: "go on?" });
  const film = { prompt: "it walks", start_image: go, aspect_ratio: "1:1", duration_ms: 3000 } as const;
  return { film: job("film", models.video, film) };
});

const told = pipelineOf("told", ({ job, chat }) => {
  const story = chat("story", "chat-1", { prompt: "a story" }, { maxCost: "0.01" });
  return { story, scene: job("scene", models.image, { prompt: text`a scene of ${story}` }) };
});

/** Models in the pipelines' code; the processes of a life use other models in their place. */
const asked = { specificationVersion: "v4", doGenerate: async () => Promise.reject(new Error("not here")) } as const;
const painter = (modelId: string, provider = "once"): ImageModelV4 => {
  return { ...asked, provider: `${provider}.image`, modelId, maxImagesPerCall: 4 };
};
const speaker: SpeechModelV4 = { ...asked, provider: "once.speech", modelId: "speaker" };
const filmer = (provider: string): VideoModelV4 => {
  const started = { doStart: asked.doGenerate, doStatus: asked.doGenerate };
  return {
    specificationVersion: "v4",
    provider: `${provider}.video`,
    modelId: "filmer",
    maxVideosPerCall: 1,
    ...started,
  };
};

/** Requests to providers with a single response, one of them repeatable, and a job that uses a result. */
const painted = pipelineOf("painted", ({ generate, job }) => {
  const still = generate("still", painter("still"), { prompt: "a still", n: 2 }, { maxCost: "0.05" });
  const voice = generate("voice", speaker, { text: "a voice" }, { maxCost: "0.02", repeatable: true });
  const edit = generate(
    "edit",
    painter("edit", "gateway"),
    { prompt: "an edit", files: [still.output(0)] },
    { maxCost: "0.05", price: () => "0.04", attempts: 2 },
  );
  return { voice, edit, big: job("big", models.image, { prompt: "bigger", images: [still.output(1)] }) };
});

/** Operations that are polled, with and without an idempotency key. */
const filmed = pipelineOf("filmed", ({ generate, job }) => {
  const look = job("look", models.image, { prompt: "a look" });
  const found = generate("found", filmer("queue"), { prompt: "it walks", image: look }, { maxCost: "0.10" });
  const keyed = generate("keyed", filmer("gateway"), { prompt: "it runs" }, { maxCost: "0.10", attempts: 2 });
  const again = generate("again", filmer("queue"), { prompt: "it flies" }, { maxCost: "0.03", repeatable: true });
  return { found, keyed, again };
});

/** Fallbacks between several services. */
const either = pipelineOf("either", ({ firstOf, approve }) => {
  const look = firstOf("look", [
    (b) => b.generate("a", painter("a"), { prompt: "a look" }, { maxCost: "0.05" }),
    (b) =>
      b.firstOf("other", [
        (c) => c.job("b", models.image, { prompt: "another look" }),
        (c) => c.generate("c", painter("c"), { prompt: "any look" }, { maxCost: "0.03", repeatable: true }),
      ]),
  ]);
  const go = approve("go", look, { message: "go on?" });
  const film = firstOf(
    "film",
    [
      (b) => b.generate("d", filmer("queue"), { prompt: "it walks", image: go }, { maxCost: "0.10" }),
      (b) => b.generate("e", filmer("gateway"), { prompt: "it walks", image: go }, { maxCost: "0.20" }),
    ],
    { onModerated: "next" },
  );
  return { film };
});

const milder = { onModerated: "rewrite", rewrite: { model: "chat-1", maxCost: "0.01" } } as const;

/** Prompts that are rewritten once, in a run that stops at the first failure. */
const rewritten = pipelineOf(
  "rewritten",
  ({ generate, job, approve }) => {
    const look = job("look", models.image, { prompt: "a duel" }, milder);
    const go = approve("go", look, { message: "go on?" });
    const film = generate("film", filmer("queue"), { prompt: "a storm", image: go }, { maxCost: "0.10", ...milder });
    const still = generate("still", painter("still"), { prompt: "a fight" }, { maxCost: "0.05", ...milder });
    return { film, still };
  },
  { onFailure: "failFast" },
);

/** Rewritten prompts with the service only, followed by another fallback. */
const reworded = pipelineOf(
  "reworded",
  ({ job, firstOf }) => {
    const look = firstOf("look", [
      (b) => b.job("a", models.image, { prompt: "a duel" }, milder),
      (b) => b.job("b", models.image, { prompt: "a dance" }),
    ]);
    const film = { prompt: "a storm", start_image: look, aspect_ratio: "1:1", duration_ms: 3000 } as const;
    return { film: job("film", models.video, film, { ...milder, attempts: 2 }) };
  },
  { onFailure: "failFast" },
);

/** Several variants in parallel. */
const compared = pipelineOf("compared", ({ compare, job }) => {
  const face = compare("face", {
    a: (b) => b.job("a", models.image, { prompt: "a face" }),
    b: (b) => b.generate("b", painter("b"), { prompt: "a face" }, { maxCost: "0.05" }),
  });
  return { card: job("card", models.image, { prompt: "a card", images: [face] }) };
});

const sent = pipeline("sent", {
  input: z.object({ sample: file("image") }),
  build({ input: { sample }, job, upload }) {
    const look = job("look", models.image, { prompt: "alike", images: [upload("sample", sample)] });
    return {
      film: job("film", models.video, {
        prompt: "it walks",
        start_image: look,
        aspect_ratio: "1:1",
        duration_ms: 3000,
      }),
    };
  },
});

/** Renames a job of a pipeline; jobs that depend on an approval keep their names. */
function renamedJob(of: Pipeline): Pipeline {
  return {
    ...of,
    build(builder) {
      let isDone = false;
      const job = (name: string, ...rest: readonly unknown[]) => {
        const isOther = !isDone && !(name in decides);
        isDone ||= isOther;
        return (builder.job as (...given: readonly unknown[]) => unknown)(isOther ? `${name}-renamed` : name, ...rest);
      };
      return of.build({ ...builder, job } as unknown as typeof builder);
    },
  };
}

export function promptOf(input: unknown): unknown {
  return (input as { readonly prompt?: unknown } | null)?.prompt;
}

/** The file that a run of `sent` uploads. */
export const SAMPLE = greyPng(512);

export interface SimPlan {
  readonly plan: Plan;
  /** The pipeline's code if a process needs it; otherwise null. */
  readonly pipeline: Pipeline | null;
  /** The pipeline's code; `renamed` is the same code with one job renamed. */
  readonly code: Pipeline;
  readonly renamed: Pipeline;
  /** Steps with a prompt. */
  readonly prompted: readonly string[];
  readonly paidSteps: readonly string[];
  readonly approvals: readonly string[];
  /** Approvals, by the paid steps that depend on them. */
  readonly decides: Readonly<Record<string, string>>;
}

const decides = { film: "go", poster: "lead" };

/** Plans of small pipelines that cover all ways in which runs involve money and people. */
export async function simPlans(): Promise<readonly SimPlan[]> {
  const { show, outDir } = await openFakeShow();
  const sample = `${outDir}-sample`;
  await writeFile(sample, SAMPLE);
  const plans: SimPlan[] = [];
  for (const one of [
    single,
    chain,
    takes,
    fan,
    second,
    patient,
    hurried,
    told,
    sent,
    painted,
    filmed,
    either,
    compared,
    rewritten,
    reworded,
  ] as readonly Pipeline[]) {
    const planned = await show.plan(one, one === sent ? { sample } : {});
    if (!planned.ok) throw new Error(JSON.stringify(planned.problems));
    const { plan } = planned;
    const pathsOf = (kinds: readonly string[]) =>
      plan.steps.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => path);
    const approvals = pathsOf(["approve"]);
    const pipeline = plan.steps.some(({ kind }) => kind === "generate") ? one : null;
    const own = Object.entries(decides).filter(([, step]) => approvals.includes(step));
    const found = {
      plan,
      decides: Object.fromEntries(own),
      paidSteps: pathsOf(["job", "chat", "generate"]),
      approvals,
      pipeline,
      code: one,
      renamed: renamedJob(one),
      prompted: plan.steps.flatMap((step) =>
        "input" in step && typeof promptOf(step.input) === "string" ? [step.path] : [],
      ),
    };
    plans.push(Object.assign(found, { [fc.toStringMethod]: () => plan.pipeline }));
  }
  await show.close();
  return plans;
}
