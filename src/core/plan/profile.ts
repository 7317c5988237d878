import { didYouMean, own, suggest } from "../kit/lookup.ts";
import type { Catalog } from "./catalog-port.ts";
import type { Draft, DraftJson, DraftStep, Json, Problem } from "./plan.ts";
import { type TextChange, withTexts } from "./texts.ts";

/** Returns whether a path matches a pattern, in which `*` stands for any characters, including `/`. */
export function matchesPattern(pattern: string, path: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === path;
  if (!path.startsWith(first)) return false;
  let from = first.length;
  for (const [index, piece] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const found = isLast ? path.length - piece.length : path.indexOf(piece, from);
    if (found < from || !path.startsWith(piece, found)) return false;
    from = found + piece.length;
  }
  return true;
}

/** A profile in plain JSON, as stored with a run. `without` lists the fields to leave out. */
export interface AppliedProfile {
  readonly name: string;
  readonly models: { readonly [id: string]: string };
  readonly fields: { readonly [model: string]: ProfileChange };
  readonly steps: { readonly [path: string]: ProfileChange & { readonly model: string | null } };
}

export interface ProfileChange {
  readonly set: { readonly [field: string]: Json };
  readonly without: readonly string[];
}

export interface StepEdits {
  readonly [path: string]: ProfileChange;
}

export function withEdits(edits: StepEdits, later: StepEdits): StepEdits {
  const merged = Object.entries(later).map(([path, change]) => {
    const before = Object.hasOwn(edits, path) ? edits[path]! : { set: {}, without: [] };
    const kept = Object.entries(before.set).filter(([name]) => !change.without.includes(name));
    const without = before.without.filter((name) => !Object.hasOwn(change.set, name) && !change.without.includes(name));
    return [path, { set: { ...Object.fromEntries(kept), ...change.set }, without: [...without, ...change.without] }];
  });
  return { ...edits, ...Object.fromEntries(merged) };
}

export function editedFields(edits: StepEdits | undefined, path: string): readonly string[] {
  const edited = edits === undefined ? undefined : own(edits, path);
  return edited === undefined ? [] : [...Object.keys(edited.set), ...edited.without];
}

/** Changes to a draft. They are applied in this order: the profile, the texts, the edits. */
export interface Overlay {
  readonly profile?: AppliedProfile | null | undefined;
  readonly edits?: StepEdits | undefined;
  readonly texts?: readonly TextChange[] | undefined;
}

export function withOverlay(draft: Draft, { profile, edits = {}, texts = [] }: Overlay): Draft {
  const steps = draft.steps.map((step) => {
    const changedStep = profile ? changed(step, profile) : step;
    const profiled =
      "input" in changedStep && texts.length > 0
        ? { ...changedStep, input: withTexts(changedStep.input, texts) }
        : changedStep;
    if (!("model" in profiled) || !Object.hasOwn(edits, step.path)) return profiled;
    const edit = edits[step.path]!;
    const isSeedEdited = Object.hasOwn(edit.set, "seed") || edit.without.includes("seed");
    const edited = { ...profiled, input: withChange(profiled.input, edit) };
    return edited.kind === "job" && isSeedEdited ? { ...edited, isSeedEdited: true as const } : edited;
  });
  return { ...draft, steps };
}

function changed(step: DraftStep, profile: AppliedProfile): DraftStep {
  if (!("model" in step)) return step;
  const patterns = Object.entries(profile.steps).filter(([pattern]) => matchesPattern(pattern, step.path));
  const swapped = Object.hasOwn(profile.models, step.model) ? profile.models[step.model]! : step.model;
  // A provider's model is an object in the pipeline's code, so a profile cannot replace it.
  const isCode = "provider" in step;
  const model = isCode ? step.model : (patterns.findLast(([, { model }]) => model !== null)?.[1].model ?? swapped);
  const ofModel = Object.hasOwn(profile.fields, model) ? [profile.fields[model]!] : [];
  const changes = [...ofModel, ...patterns.map(([, change]) => change)];
  return { ...step, model, input: changes.reduce(withChange, step.input) };
}

function withChange(input: DraftJson, { set, without }: ProfileChange): DraftJson {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const remaining = Object.entries(input).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(remaining), ...set };
}

export function profileProblems(
  draft: Draft,
  profile: AppliedProfile,
  catalog: Pick<Catalog, "ids" | "model">,
): readonly Problem[] {
  const paths = draft.steps.map(({ path }) => path);
  const grows = draft.steps.filter(({ kind }) => kind === "expand").map(({ path }) => `${path}/`);
  const at = `profiles.${profile.name}`;
  const unknownSteps = Object.keys(profile.steps).flatMap((pattern): readonly Problem[] => {
    const concerned = pattern.includes("*") || paths.includes(pattern);
    if (concerned || grows.some((prefix) => pattern.startsWith(prefix))) return [];
    const hint = didYouMean(pattern, paths) ?? "use * in the name to match steps that exist only for some inputs";
    const message = `the plan has no step ${pattern}; ${hint}`;
    return [
      { code: "unknown-step", step: null, field: `${at}.steps.${pattern}`, message, allowed: suggest(pattern, paths) },
    ];
  });
  const unknownModels = modelPlaces(profile).flatMap(([field, id]): readonly Problem[] => {
    if (catalog.model(id) !== null) return [];
    const models = [...catalog.ids()];
    const message = `the service has no model ${id}; ${didYouMean(id, models) ?? "list the models with: showrunner models list"}`;
    return [{ code: "unknown-model", step: null, field: `${at}.${field}`, message, allowed: suggest(id, models) }];
  });
  return [...unknownSteps, ...unknownModels];
}

export function profileModels(profile: AppliedProfile): readonly string[] {
  return [...new Set(modelPlaces(profile).map(([, id]) => id))];
}

function modelPlaces({ models, fields, steps }: AppliedProfile): readonly (readonly [field: string, id: string])[] {
  return [
    ...Object.keys(models).map((id) => [`models.${id}`, id] as const),
    ...Object.entries(models).map(([id, by]) => [`models.${id}`, by] as const),
    ...Object.keys(fields).map((id) => [`fields.${id}`, id] as const),
    ...Object.entries(steps).flatMap(([path, { model }]) =>
      model === null ? [] : [[`steps.${path}`, model] as const],
    ),
  ];
}
