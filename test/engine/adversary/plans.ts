import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { file, type Pipeline, pipeline, text } from "../../../src/index.ts";
import { greyPng } from "../../../src/placeholder-media.ts";
import type { Plan } from "../../../src/plan/plan.ts";
import { openFakeShow } from "../../support/fake-showrunner.ts";

const input = z.object({});

const single = pipeline("single", {
  input,
  build({ job }) {
    return { cat: job("cat", models.image, { prompt: "a cat" }) };
  },
});

const chain = pipeline("chain", {
  input,
  build({ job, approve }) {
    const look = job("look", models.image, { prompt: "a look", num_outputs: 2 });
    const go = approve("go", look.output(0), { message: "go on?" });
    return {
      film: job("film", models.video, { prompt: "it walks", start_image: go, aspect_ratio: "1:1", duration_ms: 3000 }),
    };
  },
});

const takes = pipeline("takes", {
  input,
  build({ job, takes: take, choose }) {
    const faces = take("face", models.image, { prompt: "a face" }, { count: 2, choose: "first" });
    const lead = choose("lead", faces.outputs(), { by: "person", message: "who is it?" });
    return { poster: job("poster", models.image, { prompt: "a poster", images: [lead] }) };
  },
});

const fan = pipeline("fan", {
  input,
  build({ job }) {
    const drawn = ["a", "b", "c"].map((name) => job(name, models.image, { prompt: name }));
    return { drawn, again: job("again", models.image, { prompt: "again" }, { attempts: 2 }) };
  },
});

const second = pipeline("second", {
  input,
  build({ firstOf, job }) {
    const look = firstOf("look", [
      (b) =>
        b.job("a", models.image, { prompt: "a look", images: [b.job("mood", models.image, { prompt: "a mood" })] }),
      (b) =>
        b.firstOf("other", [
          (c) => c.job("b", models.image, { prompt: "another look" }),
          (c) => c.job("c", models.image, { prompt: "any look" }),
        ]),
    ]);
    return { poster: job("poster", models.image, { prompt: "a poster", images: [look] }) };
  },
});

const told = pipeline("told", {
  input,
  build({ job, chat }) {
    const story = chat("story", "chat-1", { prompt: "a story" }, { maxCost: "0.01" });
    return { story, scene: job("scene", models.image, { prompt: text`a scene of ${story}` }) };
  },
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

/** What a run of `sent` uploads. */
export const SAMPLE = greyPng(512);

export interface SimPlan {
  readonly plan: Plan;
  readonly paidSteps: readonly string[];
  readonly approvals: readonly string[];
  /** Approvals, by the steps that are bought on them. */
  readonly decides: Readonly<Record<string, string>>;
}

const decides = { film: "go", poster: "lead" };

/** Small pipelines with every way in which money and people come into a run, planned once. */
export async function simPlans(): Promise<readonly SimPlan[]> {
  const { show, outDir } = await openFakeShow();
  const sample = `${outDir}-sample`;
  await writeFile(sample, SAMPLE);
  const plans: SimPlan[] = [];
  for (const one of [single, chain, takes, fan, second, told, sent] as readonly Pipeline[]) {
    const planned = await show.plan(one, one === sent ? { sample } : {});
    if (!planned.ok) throw new Error(JSON.stringify(planned.problems));
    const { plan } = planned;
    const pathsOf = (kinds: readonly string[]) =>
      plan.steps.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => path);
    const approvals = pathsOf(["approve"]);
    const own = Object.entries(decides).filter(([, step]) => approvals.includes(step));
    const found = { plan, decides: Object.fromEntries(own), paidSteps: pathsOf(["job", "chat"]), approvals };
    plans.push(Object.assign(found, { [fc.toStringMethod]: () => plan.pipeline }));
  }
  await show.close();
  return plans;
}
