import type { JobKind } from "../../store/rows.ts";
import type { CatalogEntry, JsonSchema, Modality, ModelDefinition, ModelState, Work } from "../model.ts";
import { OUTPUT_SCHEMA } from "../schema-parts.ts";

/** What each built-in model declares; the other properties are the same for all. */
export interface BuiltIn extends Partial<Omit<ModelDefinition, "entry" | "kind">> {
  readonly id: string;
  readonly modality: Modality;
  readonly name: string;
  readonly description: string;
  readonly prices: string;
  readonly schema: JsonSchema;
  readonly kind: Exclude<JobKind, "chat"> | ModelDefinition["kind"];
}

const LIVE: ModelState = { is: "live" };

export function builtIn(model: BuiltIn): ModelDefinition {
  const { id, modality, name, description, prices, schema, kind, ...own } = model;
  const entry: CatalogEntry = {
    id,
    modality,
    name,
    description,
    price_description: prices,
    logo_url: null,
    input_schema: schema,
    output_schema: OUTPUT_SCHEMA,
  };
  return {
    state: LIVE,
    unquotable: null,
    priceMicros: () => 0,
    renderMs: () => 0,
    listsVoices: false,
    voices: [],
    oldIds: {},
    ...own,
    entry,
    kind: typeof kind === "function" ? kind : () => kind,
  };
}

export function text(work: Work, field: string): string {
  const value = work.input[field];
  return typeof value === "string" ? value : "";
}

export function integer(work: Work, field: string, fallback: number): number {
  const value = work.input[field];
  return typeof value === "number" ? value : fallback;
}

/** Total duration of all media of a field, in milliseconds. */
export function mediaMs(work: Work, field: string): number {
  return (work.media[field] ?? []).reduce((sum, media) => sum + (media.durationMs ?? 0), 0);
}

/** Rounds up to whole seconds. */
export function secondsBegun(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
