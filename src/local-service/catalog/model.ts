import type { JobKind } from "../store/rows.ts";

export type Modality = "image" | "video" | "audio";
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A measured file or asset of an input. */
export interface MeasuredMedia {
  readonly kind: "image" | "video" | "audio";
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/** What prices and simulated durations are computed from. */
export interface Work {
  /** Validated, with schema defaults filled. */
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

/** A catalog entry with everything that the service needs to run it. */
export interface ModelDefinition {
  readonly entry: CatalogEntry;
  readonly state: ModelState;
  /** Which renderer makes the outputs. */
  kind(work: Work): Exclude<JobKind, "chat">;
  /** Null when the model can be priced without measuring its inputs; else the reason told to the caller. */
  readonly unquotable: string | null;
  /** Whole micro-dollars for the entire job. */
  priceMicros(work: Work): number;
  /** Simulated processing time, before the speed factor. */
  renderMs(work: Work): number;
  /** The schema enumerates its voices, so ids unknown to the service are accepted. */
  readonly listsVoices: boolean;
  /** Stock voices, for speech models. */
  readonly voices: readonly StockVoice[];
  /** Legacy ids that answer 404 with this advice. */
  readonly oldIds: Readonly<Record<string, string>>;
  /** Maps the input to the renderer's fields, where the names differ. */
  adapt?(work: Work): { readonly input: Work["input"]; readonly rename: Readonly<Record<string, string>> };
}

/** A stock voice, available to every account. */
export interface StockVoice {
  readonly voiceId: string;
  readonly name: string;
  readonly base: "slt" | "rms" | "awb" | "kal";
  readonly labels: Readonly<Record<string, string>>;
}
