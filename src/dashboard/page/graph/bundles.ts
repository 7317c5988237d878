import { groupsOf } from "../../views/groups.ts";
import type { GroupView, StepPhase, StepView } from "../../views/run-wire.ts";

/** Steps that are drawn as one node. */
export interface Bundle extends Omit<GroupView, "shown"> {
  /** Of a large run, some of them. */
  readonly members: readonly StepView[];
}

interface Steps {
  readonly steps: ReadonlyMap<string, StepView>;
  readonly groups?: readonly GroupView[] | null;
}

/** What the graph draws; a large run comes in groups already. */
export function bundlesOf({ steps, groups = null }: Steps, isGrouped: boolean): readonly Bundle[] {
  if (groups !== null) {
    return groups.map((group) => ({ ...group, members: group.shown.flatMap((path) => steps.get(path) ?? []) }));
  }
  const found = groupsOf([...steps.values()], isGrouped);
  const home = new Map(found.flatMap(({ key, members }) => members.map(({ path }) => [path, key] as const)));
  return found.map(({ key, members }) => {
    const needs = new Set(members.flatMap((member) => member.needs.flatMap((need) => home.get(need) ?? [])));
    needs.delete(key);
    return { key, members, count: members.length, phases: countPhases(members), needs: [...needs] };
  });
}

function countPhases(steps: readonly StepView[]): Bundle["phases"] {
  const phases: { [P in StepPhase]?: number } = {};
  for (const { phase } of steps) phases[phase] = (phases[phase] ?? 0) + 1;
  return phases;
}

/** Arrows between bundles, each once. */
export function arrows(bundles: readonly Bundle[]): readonly (readonly [from: string, to: string])[] {
  return bundles.flatMap(({ key, needs }) => needs.map((need) => [need, key] as const));
}
