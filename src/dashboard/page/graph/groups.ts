import type { StepView } from "../../views/wire.ts";

/** Steps that are drawn as one node. */
export interface Bundle {
  readonly key: string;
  /** How it is called: the path, with `*` where members differ. */
  readonly title: string;
  readonly members: readonly StepView[];
}

/** Up to so many steps are drawn one by one. */
export const MOST_SINGLE = 60;
const MOST_BUNDLES = 150;
const LEAST_MEMBERS = 3;

/** Every step by itself while that can be overlooked; else those that are alike as one. */
export function bundle(steps: readonly StepView[], isGrouped: boolean): readonly Bundle[] {
  if (!isGrouped) return steps.map((step) => ({ key: step.path, title: step.path, members: [step] }));
  const byShape = groupBy(steps, ({ path }) => path.replaceAll(/\d+/g, "*"));
  const groups =
    byShape.size <= MOST_BUNDLES ? byShape : groupBy(steps, ({ kind, model, path }) => coarse(kind, model, path));
  return [...groups].flatMap(([title, members]): Bundle[] =>
    members.length < LEAST_MEMBERS
      ? members.map((step) => ({ key: step.path, title: step.path, members: [step] }))
      : [{ key: title, title, members }],
  );
}

function coarse(kind: string, model: string | null, path: string): string {
  const nested = path.includes("/") ? `${path.slice(0, path.indexOf("/")).replaceAll(/\d+/g, "*")}/` : "";
  return `${nested}${model ?? kind} *`;
}

function groupBy(steps: readonly StepView[], keyOf: (step: StepView) => string): Map<string, StepView[]> {
  const groups = new Map<string, StepView[]>();
  for (const step of steps) {
    const key = keyOf(step);
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [step]);
    else members.push(step);
  }
  return groups;
}

/** Arrows between bundles, each once. */
export function arrows(bundles: readonly Bundle[]): readonly (readonly [from: string, to: string])[] {
  const home = new Map(bundles.flatMap(({ key, members }) => members.map(({ path }) => [path, key] as const)));
  const seen = new Set<string>();
  const found: (readonly [string, string])[] = [];
  for (const { key, members } of bundles) {
    for (const need of new Set(members.flatMap(({ needs }) => needs))) {
      const from = home.get(need);
      const id = `${from}\n${key}`;
      if (from === undefined || from === key || seen.has(id)) continue;
      seen.add(id);
      found.push([from, key]);
    }
  }
  return found;
}
