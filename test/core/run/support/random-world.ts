import fc from "fast-check";
import type { FailurePolicy, Json, PlanStep, Reference } from "../../../../src/core/plan/plan.ts";
import type { Fate, World } from "./fake-run.ts";
import { job, planOf, ref } from "./plans.ts";
import { chat, expansion, gate, pick, task, upload, valueRef } from "./steps.ts";

const fates = "made partly failed failed-free moderated refused unanswered late-bill".split(" ") as Fate[];
const failurePolicy = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant<FailurePolicy>("continue") },
  { weight: 1, arbitrary: fc.constant<FailurePolicy>("failFast") },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }).map((quorum): FailurePolicy => ({ quorum })) },
);

const sketch = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant("job" as const) },
    { weight: 4, arbitrary: fc.constantFrom("upload", "chat", "task", "approve", "pick", "expand" as const) },
  ),
  uses: fc.uniqueArray(fc.nat(20), { maxLength: 3 }),
  inList: fc.boolean(),
  outputs: fc.integer({ min: 1, max: 3 }),
  attempts: fc.integer({ min: 1, max: 2 }),
  onFailure: failurePolicy,
  fates: fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant<Fate>("made") }, fc.constantFrom(...fates)), {
    minLength: 1,
    maxLength: 3,
  }),
  when: fc.constantFrom("none", "none", "none", "failed"),
  pick: fc.option(fc.nat(3)),
});

type Sketch = typeof sketch extends fc.Arbitrary<infer T> ? T : never;

/** Creates a step from a sketch; it uses earlier steps that make media. */
function stepOf(path: string, sketch: Sketch, media: readonly string[]): PlanStep {
  const uses = [...new Set(sketch.uses.flatMap((at) => (media.length === 0 ? [] : [media[at % media.length]!])))];
  const refs = uses.map((used): Reference => ref(used, sketch.inList ? "all" : 0));
  const input: Json = sketch.inList ? { images: refs } : Object.fromEntries(refs.map((one, i) => [`image${i}`, one]));
  const own = { attempts: sketch.attempts, ...(sketch.onFailure !== undefined && { onFailure: sketch.onFailure }) };
  switch (sketch.kind) {
    case "job": {
      const when = sketch.when === "failed" && uses.length > 0 ? { when: { failed: uses[0]! } } : {};
      return job(path, input, { ...own, outputs: sketch.outputs, ...when });
    }
    case "upload":
      return upload(path);
    case "chat":
      return { ...chat(path, own), needs: uses };
    case "task":
      return task(path, input, own);
    case "approve":
      return gate(path, refs, refs.length > 1);
    case "pick":
      return pick(path, refs);
    case "expand":
      return expansion(path, valueRef("v"));
    default:
      return sketch.kind satisfies never;
  }
}

/** A pipeline of any shape with failures of any kind, and the order of the responses. */
export const randomWorld: fc.Arbitrary<{ readonly world: World; readonly order: readonly number[] }> = fc
  .record({
    sketches: fc.array(sketch, { minLength: 1, maxLength: 10 }),
    inner: fc.array(sketch, { minLength: 0, maxLength: 3 }),
    onFailure: failurePolicy,
    returned: fc.uniqueArray(fc.nat(20), { maxLength: 4 }),
    order: fc.array(fc.nat(50), { minLength: 1, maxLength: 20 }),
    total: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ sketches, inner, onFailure, returned, order, total }) => {
    const steps: PlanStep[] = [job("v-source"), task("v")];
    const media = ["v-source"];
    const fateOf: Record<string, readonly Fate[]> = {};
    const decisions: Record<string, number | null> = {};
    const expansions: Record<string, NonNullable<World["expansions"]>[string]> = {};
    for (const [index, each] of sketches.entries()) {
      const path = `s${index}`;
      const isEmpty =
        (each.kind === "approve" || each.kind === "pick") && (each.uses.length === 0 || media.length === 0);
      const step = stepOf(path, isEmpty ? { ...each, kind: "job" } : each, media);
      steps.push(step);
      if (step.kind === "job" || step.kind === "pick" || step.kind === "approve" || step.kind === "expand")
        media.push(path);
      fateOf[path] = each.fates;
      decisions[path] = each.pick;
      if (step.kind !== "expand") continue;
      const own = inner.map((one, i) => stepOf(`${path}/${i}`, { ...one, kind: "job" }, [...media.slice(0, -1)]));
      for (const [i, { path: name }] of own.entries()) fateOf[name] = inner[i]!.fates;
      expansions[path] = { steps: own, returns: own.map(({ path: name }) => ref(name)) };
    }
    const returns = Object.fromEntries(
      returned.map((at, i) => [`r${i}`, ref(media[at % media.length]!, i % 2 === 0 ? 0 : "all")]),
    );
    const plan = planOf(steps, returns, onFailure ?? "continue");
    const values = { v: ["a", "b"] };
    return { world: { plan, fates: fateOf, decisions, expansions, values, total }, order };
  });

/** Repeats an order of responses endlessly. */
export function cycling(order: readonly number[]): () => number {
  let at = 0;
  return () => order[at++ % order.length]!;
}
