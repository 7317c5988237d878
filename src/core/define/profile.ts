import { didYouMean } from "../kit/lookup.ts";
import { plainJson } from "../plan/plain-json.ts";
import type { Json, Problem } from "../plan/plan.ts";
import type { AppliedProfile, ProfileChange } from "../plan/profile.ts";
import type { InputOf, Model, ModelOrId, YieldOf } from "./model.ts";

/** Field values that replace the pipeline's values in a model's input. `undefined` omits the field. */
export interface ProfileFields {
  readonly [field: string]: Json | undefined;
}

/** A profile's changes to a step. They take precedence over its changes to the step's model. */
export interface ProfileStep {
  readonly model?: ModelOrId | undefined;
  readonly fields?: ProfileFields | undefined;
}

/**
 * A variant of a pipeline with other models or other field values, such as a cheap, quick `draft`. Without a profile,
 * the pipeline runs as written. `swap` and `fieldsOf` check the types of a profile's entries. Plain ids work as well.
 */
export interface Profile {
  /** Replacement models, keyed by the id of the model that they replace. {@link swap} returns such entries. */
  readonly models?: { readonly [id: string]: ModelOrId } | undefined;
  /**
   * Field values, keyed by the id of the model that the step runs under this profile. {@link fieldsOf} returns such
   * entries.
   */
  readonly fields?: { readonly [model: string]: ProfileFields } | undefined;
  /** Changes to individual steps, keyed by path. `*` matches any characters, as in `scene-*`. */
  readonly steps?: { readonly [path: string]: ProfileStep } | undefined;
  /** `local` if the profile runs only on the local service, which the command line then starts automatically. */
  readonly service?: "local" | undefined;
}

export interface Profiles {
  readonly [name: string]: Profile;
}

/** Replaces one model with another of the same output kind: `models: { ...swap(models.filmHd, models.filmFast) }`. */
export function swap<M extends Model>(model: M, by: Model<unknown, YieldOf<M>>): { readonly [id: string]: string } {
  return { [model.id]: by.id };
}

type PlainFields<I> = I extends unknown ? { readonly [K in keyof I]?: Extract<I[K], Json> | undefined } : never;

/** Sets typed fields of a model's input: `fields: { ...fieldsOf(models.film, { duration_ms: 3000 }) }`. */
export function fieldsOf<M extends Model>(
  model: M,
  fields: PlainFields<InputOf<M>>,
): { readonly [model: string]: ProfileFields } {
  return { [model.id]: fields as ProfileFields };
}

type Found = { readonly profile: AppliedProfile } | { readonly problem: Problem };

export function profileNamed(profiles: Profiles | undefined, name: string): Found {
  const known = Object.keys(profiles ?? {});
  const profile = known.includes(name) ? profiles?.[name] : undefined;
  if (profile !== undefined) return { profile: plainProfile(name, profile) };
  const listed = known.length === 0 ? "it has no profiles" : `its profiles are ${known.join(", ")}`;
  const message = `the pipeline has no profile ${JSON.stringify(name)}; ${didYouMean(name, known) ?? listed}`;
  return { problem: { code: "unknown-profile", step: null, field: "profile", message, allowed: known } };
}

function plainProfile(name: string, { models = {}, fields = {}, steps = {} }: Profile): AppliedProfile {
  return {
    name,
    models: mapValues(models, idOf),
    fields: mapValues(fields, changeOf),
    steps: mapValues(steps, ({ model, fields = {} }) => {
      return { model: model === undefined ? null : idOf(model), ...changeOf(fields) };
    }),
  };
}

function idOf(model: string | { readonly id: string }): string {
  return typeof model === "string" ? model : model.id;
}

export function changeOf(fields: ProfileFields): ProfileChange {
  const entries = Object.entries(fields);
  const set = entries.filter(([, value]) => value !== undefined).map(([name, value]) => [name, plainJson(value)]);
  return {
    set: Object.fromEntries(set),
    without: entries.filter(([, value]) => value === undefined).map(([name]) => name),
  };
}

function mapValues<A, B>(record: { readonly [key: string]: A }, map: (value: A) => B): { readonly [key: string]: B } {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
