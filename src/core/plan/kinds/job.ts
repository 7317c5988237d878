import { didYouMean, suggest } from "../../kit/lookup.ts";
import { BY_DEFAULT, type Catalog, type CatalogModel, type FieldProblem } from "../catalog-port.ts";
import { fingerprint, isOwnSource, referencesOf } from "../plain-json.ts";
import { mostSeed, outputsOf, type SchemaLocation, schemaLocation, yieldsOf } from "../schema.ts";
import type { DraftJson, DraftStepBase, Json, StepPolicy, SubmittingStep } from "../step.ts";
import {
  AnyOf,
  type BoundValue,
  bindAsset,
  bindReference,
  bindText,
  checkMediaLiteral,
  type InputLocation,
  type Sample,
} from "./bind-reference.ts";
import { bindWhen, isAsset, isDraftReference, MEDIA, needsOf, type Planning, type StepKind, UNKNOWN } from "./kind.ts";

/** A paid job on the service. */
export interface JobStep extends SubmittingStep {
  readonly kind: "job";
}

export interface JobDraft extends DraftStepBase {
  readonly kind: "job";
  readonly model: string;
  readonly input: DraftJson;
  readonly policy: StepPolicy;
  readonly seed: number | null;
  /** True if the seed was set or removed by an edit. Planning then assigns no seed. */
  readonly isSeedEdited?: true;
}

const TYPICAL_MS = { image: 10_000, audio: 8_000, voice: 8_000, video: 90_000 } as const;

export const jobKind: StepKind<JobDraft, JobStep> = {
  files: () => [],
  models: ({ model }) => [model],
  plan(draft, planning) {
    const model = usableModel(draft.model, planning);
    const schema = model === null ? null : schemaLocation(model.inputSchema);
    const seeded = model === null ? null : withSeed(draft, model, planning);
    const given = seeded === null || model === null ? draft.input : withVoice(seeded.input, model, planning);
    const bound = bindInput(given, schema, planning);
    if (model !== null) checkInput(model, bound, planning);
    const when = bindWhen(draft.when, planning);
    const yields = model === null ? null : yieldsOf(model);
    if (model === null || yields === null) return { facts: UNKNOWN };
    const { path, policy } = draft;
    const { input } = bound;
    const step: JobStep = {
      kind: "job",
      path,
      needs: needsOf(draft, draft.input),
      fingerprint: fingerprint({ kind: "job", model: draft.model, input }),
      ...when,
      model: draft.model,
      input,
      yields,
      outputs: outputsOf(draft.input, model),
      ...(seeded?.mostSeed != null && { mostSeed: seeded.mostSeed }),
      policy,
    };
    return { step };
  },
  facts: ({ yields, outputs, policy }) => ({
    ...MEDIA,
    yields,
    outputs,
    as: yields === "voice" ? "voice" : "asset",
    keeps: policy.keep,
  }),
  traits: (step) => ({
    noun: "job",
    note: step.model,
    subject: null,
    brackets: step.yields === "voice" ? ["([", "])"] : ["[", "]"],
    icon: "media",
    uses: referencesOf(step.input),
    requested: { model: step.model, input: step.input },
    pricing: { by: "quote" },
    typicalMs: TYPICAL_MS[step.yields],
    modality: step.yields === "voice" ? "audio" : step.yields,
    needsCode: false,
    readsFiles: false,
    decision: null,
    submits: step,
    provider: null,
    reuse: () => ({ kind: "job", model: step.model }),
    file: null,
    standsFor: [],
    isChoice: false,
    expansion: null,
    keeps: step.policy.keep,
  }),
};

export const voiceKey = (model: string, name: string) => `${model} ${name}`;

/** Returns the input's `voice_id` if it may be a voice's name instead of an id. */
export function voiceNameOf(input: DraftJson): string | null {
  const text = (input as { readonly voice_id?: unknown } | null)?.voice_id;
  return typeof text === "string" && text !== "" && !text.startsWith("voice_") ? text : null;
}

function withVoice(input: DraftJson, { id, inputSchema }: CatalogModel, { voices, report }: Planning): DraftJson {
  const name = voiceNameOf(input);
  if (name === null || schemaLocation(inputSchema).property("voice_id")?.takes.what !== "voice") return input;
  const [voice, ...others] = voices?.get(voiceKey(id, name)) ?? [];
  if (voice === undefined) return input;
  if (others.length === 0) return { ...(input as { readonly [field: string]: DraftJson }), voice_id: voice.id };
  const all = [voice, ...others];
  const listed = all.map((each) => [each.id, ...Object.values(each.labels)].join(", ")).join("; ");
  const message = `${id} has ${all.length} voices named ${JSON.stringify(name)}; use the id of one of them: ${listed}`;
  report("ambiguous-voice", "input.voice_id", message, { allowed: all.map((each) => each.id) });
  return input;
}

interface Seeded {
  readonly input: DraftJson;
  /** The highest seed that a rerun may choose. Null if a rerun must not change the seed. */
  readonly mostSeed: number | null;
}

function withSeed({ input, seed, isSeedEdited }: JobDraft, model: CatalogModel, { report }: Planning): Seeded {
  const most = mostSeed(model);
  if (seed === null || most === null || typeof input !== "object" || input === null || Array.isArray(input))
    return { input, mostSeed: null };
  if (isSeedEdited) return { input, mostSeed: most };
  if ("seed" in input) {
    report(
      "fixed-field",
      "input.seed",
      "each additional take adds 1 to the seed, so set the seed to a whole number or remove it",
    );
    return { input, mostSeed: null };
  }
  return { input: { ...input, seed: seed % (most + 1) }, mostSeed: most };
}

function checkInput(model: CatalogModel, bound: BoundInput, { catalog, report }: Planning): void {
  for (const problem of problemsOf(model, bound, catalog)) {
    report(problem.code, problem.field, problem.message, problem.allowed && { allowed: problem.allowed });
  }
}

/** Codes of problems that depend only on which fields are set, not on their values. */
const WHATEVER_VALUE = new Set(["unknown-field", "exclusive", "combination-table", BY_DEFAULT]);

function problemsOf(
  model: CatalogModel,
  { samples, checkedFields }: BoundInput,
  catalog: Catalog,
): readonly FieldProblem[] {
  // References were checked when they were bound. A problem with a placeholder is not the author's mistake.
  const isOurs = ({ code, field }: FieldProblem) =>
    !WHATEVER_VALUE.has(code) &&
    checkedFields.some(
      (checked) => field === checked || field.startsWith(`${checked}.`) || field.startsWith(`${checked}[`),
    );
  const pending = checkedFields.map((field) => field.replace(/^input\./, ""));
  const problemLists = samples.map((sample) =>
    catalog.check(model, sample, pending).filter((problem) => !isOurs(problem)),
  );
  const [first = [], ...others] = problemLists;
  const isSame = (a: FieldProblem) => (b: FieldProblem) => a.code === b.code && a.field === b.field;
  return first.filter((problem) => others.every((list) => list.some(isSame(problem))));
}

function usableModel(id: string, { catalog, report }: Planning): CatalogModel | null {
  const model = catalog.model(id);
  if (model === null) {
    const ids = catalog.ids();
    const advice = catalog.advice(id);
    // Advice without a model's name only repeats that the model does not exist.
    const pointer = ids.some((other) => advice?.includes(other)) ? `the service says: ${advice}` : null;
    const hint = pointer ?? didYouMean(id, ids) ?? "list the models with: showrunner models list";
    report("unknown-model", "model", `the service has no model ${id}; ${hint}`, { allowed: suggest(id, ids) });
    return null;
  }
  const why = model.message === undefined ? "" : ` (${model.message})`;
  switch (model.state) {
    case "live":
      return model;
    case "retired": {
      const { replacedBy } = model;
      const next =
        replacedBy === undefined ? "the service lists no successor; choose another model" : `use ${replacedBy} instead`;
      report("retired-model", "model", `${id} is retired; ${next}`, replacedBy === undefined ? {} : { replacedBy });
      return null;
    }
    case "unsupported":
      report("unsupported-model", "model", `the service does not offer ${id} yet; choose another model${why}`);
      return null;
    case "unknown": {
      const what = model.modality || "something";
      const next =
        what === "text"
          ? `${id} is a language model; use it with chat(…)`
          : `${id} makes ${what}, which this version of Showrunner does not support`;
      report("unsupported-model", "model", next);
      return null;
    }
    default:
      return model.state satisfies never;
  }
}

export interface BoundInput {
  readonly input: Json;
  /**
   * Samples of the input, with placeholders for references. There are several if a placeholder can have several forms.
   */
  readonly samples: readonly Json[];
  readonly checkedFields: readonly string[];
}

const MAX_SAMPLES = 16;

export function bindInput(input: DraftJson, schema: SchemaLocation | null, planning: Planning): BoundInput {
  const checkedFields: string[] = [];
  let rounds = 0;
  const location: InputLocation = {
    field: "input",
    schema,
    markChecked: (field) => void checkedFields.push(field),
    opens: (choices) => {
      rounds = Math.min(MAX_SAMPLES, Math.max(rounds, choices));
    },
  };
  const bound = bindValue(input, location, planning);
  const samples =
    rounds === 0 ? [bound.sample as Json] : Array.from({ length: rounds }, (_, n) => nth(bound.sample, n));
  return { input: bound.input, samples, checkedFields };
}

function nth(sample: Sample, n: number): Json {
  if (sample instanceof AnyOf) return sample.values[n % sample.values.length] ?? null;
  if (typeof sample !== "object" || sample === null) return sample;
  if (Array.isArray(sample)) return sample.map((item: Sample) => nth(item, n));
  return Object.fromEntries(Object.entries(sample).map(([key, item]: [string, Sample]) => [key, nth(item, n)]));
}

function bindValue(value: DraftJson, location: InputLocation, planning: Planning): BoundValue {
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? checkMediaLiteral(value, location, planning) : { input: value, sample: value };
  }
  if (isDraftReference(value)) return bindReference(value.$ref, location, planning);
  if (isAsset(value)) return bindAsset(value.$asset, location, planning);
  if (Array.isArray(value)) return placeList(value, location, planning);
  if ("$text" in value) return bindText(value, location, planning);
  const record = value as { readonly [key: string]: DraftJson };
  const literal = checkMediaLiteral(record, location, planning);
  return literal.sample === record ? placeRecord(record, location, planning) : literal;
}

function placeList(list: readonly DraftJson[], location: InputLocation, planning: Planning): BoundValue {
  const items = list.map((item, index) =>
    bindValue(
      item,
      { ...location, field: `${location.field}[${index}]`, schema: location.schema?.item(index) ?? null },
      planning,
    ),
  );
  return {
    input: items.map((item) => item.input),
    sample: items.flatMap(({ sample, spread }): readonly Sample[] =>
      spread && Array.isArray(sample) ? sample : [sample],
    ),
  };
}

function placeRecord(
  record: { readonly [key: string]: DraftJson },
  location: InputLocation,
  planning: Planning,
): BoundValue {
  const input: [string, Json][] = [];
  const sample: [string, Sample][] = [];
  for (const [key, value] of Object.entries(record)) {
    if (isOwnSource(key, value)) {
      const message = `"${value}" is a placeholder for an uploaded file; pass upload("name", file) instead`;
      planning.report("reserved-field", `${location.field}.${key}`, message);
    }
    const inner = { ...location, field: `${location.field}.${key}`, schema: location.schema?.property(key) ?? null };
    const bound = bindValue(value, inner, planning);
    input.push([key, bound.input]);
    sample.push([key, bound.sample]);
  }
  return { input: Object.fromEntries(input), sample: Object.fromEntries(sample) };
}
