import type { PageStep } from "./page-step.ts";

export type StepPhase = PageStep["phase"];

export interface Groupable {
  readonly path: string;
  readonly kind: string;
  readonly model: string | null;
}

export interface Group<T> {
  /** The path that the members share, with `*` for the parts that differ. */
  readonly key: string;
  readonly members: readonly T[];
  readonly needs: readonly string[];
}

export const MOST_SINGLE = 60;
const MOST_GROUPS = 150;
export const LEAST_MEMBERS = 3;

export function groupsOf<T extends Groupable>(
  steps: readonly T[],
  isGrouped: boolean,
  needsOf: (step: T) => readonly string[],
): readonly Group<T>[] {
  const found = isGrouped ? alike(steps) : new Map(steps.map((step) => [step.path, [step]]));
  const home = new Map([...found].flatMap(([key, members]) => members.map(({ path }) => [path, key] as const)));
  return [...found].map(([key, members]) => {
    const needs = new Set(members.flatMap((member) => needsOf(member).flatMap((need) => home.get(need) ?? [])));
    needs.delete(key);
    return { key, members, needs: [...needs] };
  });
}

function alike<T extends Groupable>(steps: readonly T[]): ReadonlyMap<string, readonly T[]> {
  const byShape = Map.groupBy(steps, ({ path }) => path.replaceAll(/\d+/g, "*"));
  const groups = byShape.size <= MOST_GROUPS ? byShape : Map.groupBy(steps, coarse);
  return new Map(
    [...groups].flatMap(([key, members]): readonly (readonly [string, readonly T[]])[] =>
      members.length < LEAST_MEMBERS ? members.map((step) => [step.path, [step]]) : [[key, members]],
    ),
  );
}

function coarse({ kind, model, path }: Groupable): string {
  const nested = path.includes("/") ? `${path.slice(0, path.indexOf("/")).replaceAll(/\d+/g, "*")}/` : "";
  return `${nested}${model ?? kind} *`;
}

export interface StepCounts {
  readonly total: number;
  readonly done: number;
  readonly active: number;
  readonly waiting: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface StepGroup {
  readonly key: string;
  readonly count: number;
  readonly phases: { readonly [P in StepPhase]?: number };
  readonly shown: readonly string[];
  readonly needs: readonly string[];
}

export interface Bundle extends Omit<StepGroup, "shown"> {
  readonly members: readonly PageStep[];
}

interface Steps {
  readonly steps: ReadonlyMap<string, PageStep>;
  readonly groups?: readonly StepGroup[] | null;
}

export function bundlesOf({ steps, groups = null }: Steps, isGrouped: boolean): readonly Bundle[] {
  if (groups !== null) {
    return groups.map((group) => ({ ...group, members: group.shown.flatMap((path) => steps.get(path) ?? []) }));
  }
  const drawn = [...steps.values()].filter(({ isRemoved }) => !isRemoved);
  return groupsOf(drawn, isGrouped, ({ needs }) => needs).map((group) => {
    const phases: { [P in StepPhase]?: number } = {};
    for (const { phase } of group.members) phases[phase] = (phases[phase] ?? 0) + 1;
    return { ...group, count: group.members.length, phases };
  });
}
