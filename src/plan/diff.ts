import { fingerprint } from "./fingerprint.ts";
import { dependentsOf } from "./makespan.ts";
import type { Json, Plan, PlanStep } from "./plan.ts";
import { isReference } from "./references.ts";

/** One place in what a step asks for that is not as it was. */
export interface FieldChange {
  /** Dotted path, list positions in brackets: `input.images[0]`; `model` and `file` for those. */
  readonly field: string;
  /** Undefined where there was nothing. */
  readonly before: Json | undefined;
  /** Undefined where there is nothing. */
  readonly after: Json | undefined;
}

export interface PlanDiff {
  readonly unchanged: readonly string[];
  /** Steps that ask for something else than before. */
  readonly changed: readonly { readonly path: string; readonly fields: readonly FieldChange[] }[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Steps under another name that ask for the very same. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  /** Steps that must be made again: the changed and new ones, and all that use them, in plan order. */
  readonly stale: readonly string[];
}

/** What is different in `after`, by path and fingerprint. Policy (attempts, maxCost, keep) is no part of it. */
export function diffPlans(before: Plan, after: Plan): PlanDiff {
  const was = byPath(before);
  const is = byPath(after);
  const added = after.steps.filter(({ path }) => !was.has(path));
  const removed = before.steps.filter(({ path }) => !is.has(path));
  const renamed = pairByFingerprint(removed, added);
  const isNewName = new Set(renamed.map(({ to }) => to));
  const isOldName = new Set(renamed.map(({ from }) => from));
  const changed = after.steps.flatMap((step) => {
    const known = was.get(step.path);
    if (known === undefined || known.fingerprint === step.fingerprint) return [];
    return [{ path: step.path, fields: changesOf(known, step) }];
  });
  const reallyNew = added.map(({ path }) => path).filter((path) => !isNewName.has(path));
  const stale = withDependents(after, [...changed.map(({ path }) => path), ...reallyNew]);
  return {
    unchanged: after.steps
      .filter((step) => was.get(step.path)?.fingerprint === step.fingerprint)
      .map(({ path }) => path),
    changed,
    added: reallyNew,
    removed: removed.map(({ path }) => path).filter((path) => !isOldName.has(path)),
    renamed,
    stale: after.steps.map(({ path }) => path).filter((path) => stale.has(path)),
  };
}

const byPath = (plan: Plan) => new Map(plan.steps.map((step) => [step.path, step]));

function pairByFingerprint(removed: readonly PlanStep[], added: readonly PlanStep[]): PlanDiff["renamed"] {
  const free = new Map<string, string[]>();
  for (const { fingerprint, path } of removed) free.set(fingerprint, [...(free.get(fingerprint) ?? []), path]);
  return added.flatMap(({ fingerprint, path }) => {
    const from = free.get(fingerprint)?.shift();
    return from === undefined ? [] : [{ from, to: path }];
  });
}

function withDependents(plan: Plan, paths: readonly string[]): ReadonlySet<string> {
  const dependents = dependentsOf(plan);
  const found = new Set(paths);
  for (const path of found) for (const user of dependents.get(path) ?? []) found.add(user.path);
  return found;
}

function changesOf(before: PlanStep, after: PlanStep): readonly FieldChange[] {
  return compare("", asked(before), asked(after));
}

function asked(step: PlanStep): Json {
  switch (step.kind) {
    case "job":
      return { model: step.model, input: step.input };
    case "upload":
      return { file: step.file.sha256, kind: step.yields };
    case "chat":
      return { model: step.model, input: step.input, schema: step.schema };
    case "task":
      return { input: step.input, version: step.version, files: step.files };
    case "approve":
      return { shows: step.shows, choose: step.choose };
    case "pick":
      return { among: step.among, by: step.by, version: step.version };
    case "expand":
      return { on: step.on, version: step.version };
    default:
      return step satisfies never;
  }
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

/** Null for what is one value. So is a reference: which step it names is what changed, not a part of it. */
function membersOf(value: Json | undefined) {
  if (typeof value !== "object" || value === null || isReference(value)) return null;
  return { isList: Array.isArray(value), members: new Map<string, Json>(Object.entries(value)) };
}
