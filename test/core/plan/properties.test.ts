import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Builder, type Handle, text, type ValueHandle } from "../../../src/core/define/index.ts";
import { diffPlans } from "../../../src/core/plan/index.ts";
import type { Json, Plan, PlanStep } from "../../../src/core/plan/plan.ts";
import { expanded, planned } from "./support/planned.ts";

const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 100 * Number(process.env.SHOWRUNNER_TEST_SHARE ?? 0.4));
const schema = z.object({ title: z.string(), lines: z.array(z.string()) });

/** One step of some kind, what it asks for, how it is run, and which steps before it it uses. */
interface Said {
  readonly kind: "job" | "chat" | "task" | "takes" | "approve" | "choose" | "expand";
  readonly uses: readonly number[];
  readonly words: string;
  readonly number: number;
  readonly flag: boolean;
  /** How it is run. */
  readonly attempts: number;
}

const anySaid: fc.Arbitrary<Said> = fc.record({
  kind: fc.constantFrom("job", "chat", "task", "takes", "approve", "choose", "expand"),
  uses: fc.array(fc.nat(), { maxLength: 3 }),
  words: fc.stringMatching(/^[a-z]{1,8}$/),
  number: fc.integer({ min: 1, max: 9 }),
  flag: fc.boolean(),
  attempts: fc.integer({ min: 1, max: 3 }),
});
const anySaids = fc.array(anySaid, { minLength: 1, maxLength: 25 });

interface Made {
  readonly images: Handle<"image", "single">[];
  readonly stories: ValueHandle<z.output<typeof schema>>[];
}

/** Says the steps, in any order of the keys of what is said. */
function sayAll(all: readonly Said[], b: Builder<unknown>, ordered: <T extends object>(given: T) => T) {
  const made: Made = {
    images: [b.job("image", "image-1", { prompt: "x" }) as Handle as Handle<"image", "single">],
    stories: [b.chat("story", "chat-1", { prompt: "x" }, { schema })],
  };
  all.forEach((said, index) => void sayOne(`s${index}`, said, { b, made, ordered }));
  return {};
}

function sayOne(
  name: string,
  { kind, uses, words, number, flag, attempts }: Said,
  { b, made, ordered }: { b: Builder<unknown>; made: Made; ordered: <T extends object>(given: T) => T },
): void {
  const images = uses.map((use) => made.images[use % made.images.length]!);
  const story = made.stories[number % made.stories.length]!;
  const policy = ordered({ attempts, maxCost: String(attempts) });
  const prompt = flag ? words : text`${words} of ${story.at("title")}`;
  const input = ordered({ prompt, seed: number, quality: "pro", images: images.length > 0 ? images : undefined });
  switch (kind) {
    case "job":
      made.images.push(b.job(name, "image-1", input, policy) as Handle as Handle<"image", "single">);
      return;
    case "takes":
      made.images.push(
        b.takes(name, "image-1", input, { count: number, choose: flag ? "first" : "person", ...policy }) as never,
      );
      return;
    case "chat":
      made.stories.push(b.chat(name, "chat-1", ordered({ prompt, temperature: number }), { schema, ...policy }));
      return;
    case "task": {
      const given = ordered({ images, story, words, number });
      const files = ordered({ drawn: "image" } as const);
      const task = b.task(name, given, () => ({ title: words, lines: [] }), {
        files,
        version: String(number),
        attempts,
      });
      made.images.push(task);
      made.stories.push(task.value as ValueHandle<z.output<typeof schema>>);
      return;
    }
    case "approve":
      made.images.push(b.approve(name, images[0] ?? made.images[0]!, { message: words }));
      return;
    case "choose":
      made.images.push(b.choose(name, [made.images[0]!, ...images], { by: flag ? "person" : "first" }));
      return;
    case "expand": {
      const list = b.expand(name, story.at("lines"), () => [], { maxSteps: number, version: words, yields: "image" });
      made.images.push(list.output(0) as Handle as Handle<"image", "single">);
      return;
    }
    default:
      return kind satisfies never;
  }
}

const same = <T>(given: T) => given;
const reversed = <T extends object>(given: T) => Object.fromEntries(Object.entries(given).reverse()) as T;

function planOf(all: readonly Said[], ordered: <T extends object>(given: T) => T = same): Plan {
  const { plan, problems } = planned((b) => sayAll(all, b, ordered));
  expect(problems).toEqual([]);
  return plan!;
}

const prints = (plan: Plan) => plan.steps.map(({ path, fingerprint }) => `${path} ${fingerprint}`);

describe("over steps of every kind", () => {
  test("the same pipeline always gives the same plan, whatever the order of keys", () => {
    fc.assert(
      fc.property(anySaids, (all) => {
        expect(JSON.stringify(planOf(all))).toBe(JSON.stringify(planOf(all)));
        expect(prints(planOf(all, reversed))).toEqual(prints(planOf(all)));
      }),
      { numRuns: runs },
    );
  });

  test("needs come before what needs them: no circle can be written", () => {
    fc.assert(
      fc.property(anySaids, (all) => {
        const seen = new Set<string>();
        for (const { path, needs } of planOf(all).steps) {
          expect(needs.every((one) => seen.has(one))).toBe(true);
          expect(needs).toEqual([...new Set(needs)].sort());
          seen.add(path);
        }
      }),
      { numRuns: runs },
    );
  });

  test("a fingerprint changes exactly when what its step asks for changes", () => {
    fc.assert(
      fc.property(anySaids, fc.nat(), anySaid, (all, at, other) => {
        const changed = at % all.length;
        const before = planOf(all);
        const after = planOf(all.map((said, index) => (index === changed ? { ...other, kind: said.kind } : said)));
        const was = new Map(before.steps.map((step) => [step.path, step]));
        for (const step of after.steps) {
          const known = was.get(step.path);
          if (known === undefined) continue;
          const isSame = JSON.stringify(asks(known)) === JSON.stringify(asks(step));
          expect([step.path, known.fingerprint === step.fingerprint]).toEqual([step.path, isSame]);
        }
      }),
      { numRuns: runs },
    );
  });

  test("a diff names exactly the steps that ask for something else", () => {
    fc.assert(
      fc.property(anySaids, fc.nat(), fc.stringMatching(/^[a-z]{1,8}$/), (all, at, words) => {
        const before = planOf(all);
        const after = planOf(all.map((said, index) => (index === at % all.length ? { ...said, words } : said)));
        expect(diffPlans(before, before)).toMatchObject({ changed: [], added: [], removed: [], stale: [] });
        const was = new Map(before.steps.map(({ path, fingerprint }) => [path, fingerprint]));
        const others = after.steps.filter(({ path, fingerprint }) => was.get(path) !== fingerprint);
        expect(diffPlans(before, after).changed.map(({ path }) => path)).toEqual(others.map(({ path }) => path));
      }),
      { numRuns: runs },
    );
  });

  test("how a step is run is no part of what it asks for", () => {
    fc.assert(
      fc.property(anySaids, (all) => {
        const again = all.map((said) => ({ ...said, attempts: (said.attempts % 3) + 1 }));
        expect(prints(planOf(again))).toEqual(prints(planOf(all)));
      }),
      { numRuns: runs },
    );
  });
});

/** What a step asks for, said here a second time and by hand. */
function asks(step: PlanStep): Json {
  switch (step.kind) {
    case "job":
      return [step.model, step.input];
    case "upload":
      return [step.file.sha256, step.yields];
    case "chat":
      return [step.model, step.input, step.schema];
    case "task":
      return [step.input, step.version, step.files];
    case "generate":
      return [step.model, step.input];
    case "approve":
      return [step.shows, step.choose];
    case "pick":
      return [step.among, step.by, step.version];
    case "expand":
      return [step.on, step.version];
    default:
      return step satisfies never;
  }
}

describe("an expansion", () => {
  const grow = (b: Builder<unknown>) => {
    const story = b.chat("story", "chat-1", { prompt: "x" }, { schema });
    const style = b.job("style", "image-1", { prompt: "x" });
    const draw = (lines: readonly string[], inner: Omit<Builder<unknown>, "input">) =>
      lines.map((line, n) => {
        if (line.length % 3 === 0)
          return inner.takes(`t${n}`, "image-1", { prompt: line }, { count: 2, choose: "first" });
        const drawn = inner.job(`j${n}`, "image-1", { prompt: line, images: [style] });
        return line.length % 2 === 0 ? inner.approve(`a${n}`, drawn) : drawn;
      });
    const shots = b.expand("shots", story.at("lines"), draw as never, { maxSteps: 999, maxCost: "9" } as never);
    return { shots: shots as Handle };
  };

  test("gives the same names and steps on every replay of the same value, and no name that another step has", () => {
    const anyLines = fc.array(fc.stringMatching(/^[a-z]{1,6}$/), { maxLength: 20 });
    fc.assert(
      fc.property(anyLines, (lines) => {
        const first = planned(grow);
        const made = expanded(first, "shots", lines);
        // Another process: built again, from the same code and the journal's value.
        expect(expanded(planned(grow), "shots", JSON.parse(JSON.stringify(lines)))).toEqual(made);
        if (!made.ok) throw new Error(JSON.stringify(made.problems));
        const paths = made.steps.map(({ path }) => path);
        expect(paths.every((path) => path.startsWith("shots/"))).toBe(true);
        expect(new Set([...paths, ...first.plan!.steps.map(({ path }) => path)]).size).toBe(paths.length + 3);
        expect(made.returns).toHaveLength(lines.length);
        const known = new Set(["story", "style"]);
        for (const { path, needs } of made.steps) {
          expect(needs.every((one) => known.has(one))).toBe(true);
          known.add(path);
        }
      }),
      { numRuns: runs },
    );
  });
});
