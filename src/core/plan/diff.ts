import { fingerprint, isReference } from "./plain-json.ts";
import { type Condition, type Json, type Plan, type PlanStep, traitsOf } from "./plan.ts";

export type Names = ReadonlyMap<string, string>;

export function renameIn(step: PlanStep, names: Names): PlanStep {
  if (!names.has(step.path) && !step.needs.some((path) => names.has(path))) return step;
  const { path, needs, when, ...rest } = step;
  const nameOf = (name: string) => names.get(name) ?? name;
  const renamed = {
    ...(renameReferences(rest as unknown as Json, names) as object),
    path: nameOf(path),
    needs: needs.map(nameOf).sort(),
    ...(when !== undefined && { when: renameCondition(when, nameOf) }),
  };
  // The cast is safe, because a step is plain JSON and only names were replaced.
  return renamed as unknown as PlanStep;
}

function renameReferences(value: Json, names: Names): Json {
  if (typeof value !== "object" || value === null) return value;
  if (isReference(value)) {
    const { $ref } = value;
    return { $ref: { ...$ref, step: names.get($ref.step) ?? $ref.step } };
  }
  if (Array.isArray(value)) return value.map((item) => renameReferences(item, names));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renameReferences(item, names)]));
}

function renameCondition(when: Condition, nameOf: (name: string) => string): Condition {
  if ("failed" in when) return { ...when, failed: nameOf(when.failed) };
  return { ...when, ref: { ...when.ref, step: nameOf(when.ref.step) } };
}

/** A changed value in a step's request. */
export interface FieldChange {
  /**
   * Dotted path with list indexes in brackets, such as `input.images[0]`. For a field of the step itself, just `model`
   * or `file`.
   */
  readonly field: string;
  /** The old value; undefined if the field is new. */
  readonly before: Json | undefined;
  /** The new value; undefined if the field was removed. */
  readonly after: Json | undefined;
}

export interface PlanDiff {
  readonly unchanged: readonly string[];
  readonly changed: readonly { readonly path: string; readonly fields: readonly FieldChange[] }[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Steps whose name changed but whose request did not. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  /** Steps that must run again, in plan order: changed steps, new steps, and all steps that use them. */
  readonly stale: readonly string[];
}

/** Compares two plans. Ignores policies (attempts, maxCost, keep), because fingerprints exclude them. */
export function diffPlans(before: Plan, after: Plan): PlanDiff {
  const was = byPath(before);
  const is = byPath(after);
  const renamed = findRenames(before, after);
  const names: Names = new Map(renamed.map(({ from, to }) => [from, to]));
  const formerOf = new Map(renamed.map(({ from, to }) => [to, from]));
  const changed = after.steps.flatMap((step) => {
    const known = was.get(step.path);
    if (known === undefined || isSameStep(known, step, names)) return [];
    return [{ path: step.path, fields: changesOf(renameIn(known, names), step) }];
  });
  const isChanged = new Set(changed.map(({ path }) => path));
  const added = after.steps.map(({ path }) => path).filter((path) => !was.has(path) && !formerOf.has(path));
  const stale = withDependents(after.steps, [...isChanged, ...added]);
  return {
    unchanged: after.steps.map(({ path }) => path).filter((path) => was.has(path) && !isChanged.has(path)),
    changed,
    added,
    removed: before.steps.map(({ path }) => path).filter((path) => !is.has(path) && !names.has(path)),
    renamed,
    stale: after.steps.map(({ path }) => path).filter((path) => stale.has(path)),
  };
}

const byPath = (plan: Plan) => new Map(plan.steps.map((step) => [step.path, step]));

function findRenames(before: Plan, after: Plan): PlanDiff["renamed"] {
  const was = byPath(before);
  const is = byPath(after);
  const free = before.steps.filter(({ path }) => !is.has(path));
  const names = new Map<string, string>();
  for (const step of after.steps) {
    if (was.has(step.path) || free.length === 0) continue;
    const at = free.findIndex((missing) => isSameStep(missing, step, names));
    const [found] = at === -1 ? [] : free.splice(at, 1);
    if (found !== undefined) names.set(found.path, step.path);
  }
  return [...names].map(([from, to]) => ({ from, to }));
}

function isSameStep(before: PlanStep, after: PlanStep, names: Names): boolean {
  if (before.kind !== after.kind) return false;
  const named = renameIn(before, names);
  const isUntouched = !before.needs.some((path) => names.has(path));
  const asksSame = isUntouched
    ? before.fingerprint === after.fingerprint
    : fingerprint(requested(named)) === fingerprint(requested(after));
  return asksSame && fingerprint(conditionOf(named)) === fingerprint(conditionOf(after));
}

function conditionOf({ when }: PlanStep): Json {
  return when === undefined ? null : { ...when };
}

function changesOf(before: PlanStep, after: PlanStep): readonly FieldChange[] {
  return compare("", requested(before), requested(after));
}

function requested(step: PlanStep): Json {
  return { ...traitsOf(step).requested, ...(step.when !== undefined && { when: conditionOf(step) }) };
}

export function changesBetween(before: Json, after: Json): readonly FieldChange[] {
  return compare("", before, after);
}

function compare(field: string, before: Json | undefined, after: Json | undefined): readonly FieldChange[] {
  const [a, b] = [membersOf(before), membersOf(after)];
  if (a === null || b === null || a.isList !== b.isList) {
    return isSame(before, after) ? [] : [{ field, before, after }];
  }
  const keys = [...new Set([...a.members.keys(), ...b.members.keys()])];
  return keys.flatMap((key) => {
    const at = a.isList ? `${field}[${key}]` : field === "" ? key : `${field}.${key}`;
    return compare(at, a.members.get(key), b.members.get(key));
  });
}

function isSame(before: Json | undefined, after: Json | undefined): boolean {
  return before !== undefined && after !== undefined && fingerprint(before) === fingerprint(after);
}

function membersOf(value: Json | undefined) {
  if (typeof value !== "object" || value === null || isReference(value)) return null;
  return { isList: Array.isArray(value), members: new Map<string, Json>(Object.entries(value)) };
}

/**
 * Returns the given paths and those of all steps that use them, directly or indirectly. An expansion counts as a user
 * of the steps that it adds.
 */
export function withDependents(steps: readonly PlanStep[], paths: Iterable<string>): ReadonlySet<string> {
  const found = new Set(paths);
  if (found.size === 0) return found;
  const users = usersOf(steps);
  for (const path of found) for (const user of users.get(path) ?? []) found.add(user);
  return found;
}

function usersOf(steps: readonly PlanStep[]): ReadonlyMap<string, readonly string[]> {
  const expansions = expansionsIn(steps);
  const found = new Map<string, string[]>();
  const note = (used: string, user: string) => {
    const list = found.get(used);
    if (list === undefined) found.set(used, [user]);
    else list.push(user);
  };
  for (const { path, needs } of steps) {
    for (const needed of needs) note(needed, path);
    for (const around of outerPaths(path)) if (expansions.has(around)) note(path, around);
  }
  return found;
}

export function expansionsIn(steps: readonly PlanStep[]): ReadonlySet<string> {
  return new Set(steps.filter((step) => traitsOf(step).expansion !== null).map(({ path }) => path));
}

/** Returns the paths that enclose a path, innermost first: `a/b` and `a` for `a/b/c`. */
export function outerPaths(path: string): readonly string[] {
  if (!path.includes("/")) return [];
  const segments = path.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, segments.length - 1 - index).join("/"));
}

export function groupsAround({ groups = {} }: Pick<Plan, "groups">, path: string): readonly string[] {
  return outerPaths(path).filter((prefix) => Object.hasOwn(groups, prefix));
}
