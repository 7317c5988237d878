import type { JobKind } from "../store/rows.ts";

export type Modality = "image" | "video" | "audio";
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A media file or asset of an input, measured. */
export interface MeasuredMedia {
  readonly kind: "image" | "video" | "audio";
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/** What prices and simulated times are computed from. */
export interface Work {
  /** Validated, schema defaults filled. */
  readonly input: Readonly<Record<string, unknown>>;
  /** By media field, in the order given. */
  readonly media: Readonly<Record<string, readonly MeasuredMedia[]>>;
}

export type ModelState =
  | { readonly is: "live" }
  /** 410 GONE. */
  | { readonly is: "retired"; readonly replacedBy: string | null }
  /** 400 FAILED_PRECONDITION; the message says why. */
  | { readonly is: "unsupported"; readonly message: string };

/** A catalog entry as the API shows it. */
export interface CatalogEntry {
  readonly id: string;
  readonly modality: Modality;
  readonly name: string | null;
  readonly description: string | null;
  readonly price_description: string;
  readonly logo_url: string | null;
  readonly input_schema: JsonSchema;
  readonly output_schema: JsonSchema;
}

/** A catalog entry with all that the service must know to run it. */
export interface ModelDefinition {
  readonly entry: CatalogEntry;
  readonly state: ModelState;
  /** Which renderer makes the outputs. */
  kind(work: Work): Exclude<JobKind, "chat">;
  /** Null when the model can be priced without measuring its inputs; else the reason given to who asks. */
  readonly unquotable: string | null;
  /** Whole micro-dollars for the whole job. */
  priceMicros(work: Work): number;
  /** Simulated length of the work, before the speed factor. */
  renderMs(work: Work): number;
  /** The schema lists its voices itself, so ids that the service does not know are fine. */
  readonly listsVoices: boolean;
  /** Stock voices, for speech models. */
  readonly voices: readonly StockVoice[];
  /** Other ids that answer 404 with this advice. */
  readonly oldIds: Readonly<Record<string, string>>;
  /** The work as the renderer takes it, where that differs from the input's own field names. */
  adapt?(work: Work): { readonly input: Work["input"]; readonly rename: Readonly<Record<string, string>> };
}

/** A voice that every account may use. */
export interface StockVoice {
  readonly voiceId: string;
  readonly name: string;
  readonly base: "slt" | "rms" | "awb" | "kal";
  readonly labels: Readonly<Record<string, string>>;
}
