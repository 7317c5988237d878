import type { Json } from "../../core/plan/plan.ts";
import type { PipelineInput } from "../expression.ts";

const MODEL = /(?:^|\.)(?:model_slug|ai_model_id|model_id)$/;
const VOICE = /(?:^|\.)voice_id$/;

/** Collects the decisions. The same question about several bodies is a single decision. */
export function decisionsOf(bodies: readonly BodyReport[]): readonly Decision[] {
  const found = new Map<string, { readonly decision: Decision; readonly where: string[] }>();
  for (const { at, fields, status } of bodies) {
    for (const entry of fields) {
      const { field, outcome, value, why, choices } = entry;
      if (outcome !== "decision") continue;
      const code = status === "open" ? "open-body" : (/[^.[\]]+(?=(?:\[\d+\])*$)/.exec(field)?.[0] ?? field);
      const question = status === "open" ? (why ?? "") : `${shorten(value)}${why ?? ""}`;
      const key = JSON.stringify([code, question, choices]);
      const known = found.get(key);
      const location = status === "open" ? at : `${at}: ${field}`;
      const answer = status === "open" ? null : answerOf(entry);
      if (known === undefined)
        found.set(key, { decision: { code, where: [], question, choices, answer }, where: [location] });
      else if (known.where.at(-1) !== location) known.where.push(location);
    }
  }
  return [...found.values()].map(({ decision, where }) => ({ ...decision, where }));
}

function answerOf(entry: FieldEntry): Decision["answer"] {
  const { field, given, value } = entry;
  if (entry.isLost) return { about: "loss", key: lossKey(entry) };
  const about = MODEL.test(field) ? "model" : VOICE.test(field) ? "voice" : null;
  return about !== null && given && typeof value === "string" ? { about, key: value } : null;
}

/** A key for a loss, shared by all list items and bodies with the same loss. */
export function lossKey({ field, why }: Pick<FieldEntry, "field" | "why">): string {
  return `${field.replace(/\[\d+\]/g, "[]")}: ${why ?? ""}`;
}

/** Media, prompts, shots and voices in migrated bodies that no step uses, each as `body 3: field: why`. */
export function lossesOf({ bodies }: Pick<MigrationReport, "bodies">): readonly string[] {
  const migrated = bodies.filter(({ status }) => status === "migrated");
  return migrated.flatMap(({ at, fields }) =>
    fields.filter(({ isLost }) => isLost).map(({ field, why }) => `${at}: ${field}: ${why}`),
  );
}

function shorten(value: unknown): string {
  if (value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `${text.length > 60 ? `${text.slice(0, 59)}…` : text}: `;
}

/** The outcome of a field. */
export type Outcome = "carried" | "renamed" | "converted" | "defaulted" | "dropped" | "decision";

/** The outcome for one field of a v2 body. */
export interface FieldEntry {
  /** Path within the body. */
  readonly field: string;
  /** False for a field that is absent from the body, but required by v3. */
  readonly given: boolean;
  readonly outcome: Outcome;
  /** v2's value; null if absent. */
  readonly value: Json;
  /** Where the pipeline uses the value, as `step: field`; null if it does not. */
  readonly to: string | null;
  /** The value in the pipeline, or null. */
  readonly newValue: Json;
  /** Why the field was changed, defaulted, dropped or left open. */
  readonly why: string | null;
  /** Choices; the source currently uses the first. */
  readonly choices: readonly string[];
  /** Set for media, a prompt, shot or voice that v2 used but the pipeline does not; the loss is open until accepted. */
  readonly isLost?: true;
}

export interface BodyReport {
  /** Number of the body in document order, from 1. */
  readonly number: number;
  /** Location, such as `body 3`, `line 3` or `node "Portrait"`. */
  readonly at: string;
  readonly type: string;
  /**
   * `migrated`: the body has steps; `asset`: it is a file to supply; `open`: no known v3 model accepts it; `refused`:
   * v2 itself would refuse it, for the reasons in `problems`.
   */
  readonly status: "migrated" | "asset" | "open" | "refused";
  /** Names of the body's steps, in execution order. */
  readonly steps: readonly string[];
  /** The steps that produce v2's outputs. */
  readonly outputs: readonly string[];
  /** The outputs that v2 would have produced. */
  readonly makes: { readonly kind: "image" | "video" | "audio" | "voice"; readonly count: number };
  readonly fields: readonly FieldEntry[];
  /** The body itself if it is open or refused; otherwise null. */
  readonly body: Json;
}

/** A decision to make before the pipeline is used in production. It may concern several fields. */
export interface Decision {
  readonly code: string;
  /** Bodies and fields, such as `body 3: audio_start_ms`. */
  readonly where: readonly string[];
  readonly question: string;
  /** Choices; the first describes what the pipeline does now. */
  readonly choices: readonly string[];
  /**
   * Set if an answer can be stored in the decisions file: a model or voice under its v2 slug or id in `map`, a loss in
   * `leave_out`. Other decisions are made in the source.
   */
  readonly answer: { readonly about: "model" | "voice" | "loss"; readonly key: string } | null;
}

/** An invalid part of the document, which is not migrated. */
export interface MigrationProblem {
  readonly code: string;
  readonly at: string;
  /** Path within the body, or null. */
  readonly field: string | null;
  /** Line number from 1; null if the migration was given values instead of text. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

export interface MigratedStep {
  readonly name: string;
  readonly model: string;
  readonly yields: "image" | "video" | "audio" | "voice";
  /** Number of the body that the step comes from. */
  readonly body: number;
}

/** What was migrated, what needs a decision, and what v3 does not support. */
export interface MigrationReport {
  readonly version: 1;
  readonly pipeline: string;
  /** SHA-256 of the source as written, to detect later edits; null if there is no source. */
  readonly sourceSha256: string | null;
  readonly format: "body" | "list" | "lines" | "flow" | "none";
  readonly bodies: readonly BodyReport[];
  readonly steps: readonly MigratedStep[];
  /** Inputs to supply when the pipeline is run. */
  readonly inputs: readonly PipelineInput[];
  readonly decisions: readonly Decision[];
  readonly problems: readonly MigrationProblem[];
  /** Parts of the document that are not bodies, such as wait nodes in a flow. */
  readonly left: readonly { readonly at: string; readonly why: string }[];
  /** Null until `estimateMigration` has run. */
  readonly price: PriceReport | null;
  /** Null until `verifyMigration` has run. */
  readonly verification: VerificationReport | null;
}

export interface StepPriceReport {
  readonly step: string;
  readonly model: string | null;
  /** US dollars as a decimal string; null if the service cannot quote the step in advance. */
  readonly usd: string | null;
  /**
   * `quoted`: for exactly this input; `provisional`: with placeholders for media that do not exist yet; `unquotable`:
   * no price in advance.
   */
  readonly basis: string;
  readonly why: string | null;
}

export interface PriceReport {
  /** The service that priced the pipeline. */
  readonly service: string;
  readonly steps: readonly StepPriceReport[];
  /** Sum of the known prices, in US dollars as a decimal string; null if none is known. */
  readonly min: string | null;
  /** The same sum as `min`; null if a job has no price in advance. */
  readonly max: string | null;
  readonly why: string | null;
}

export interface VerificationReport {
  /** True if the pipeline ran and does all the work of the v2 bodies, except those that v2 itself would refuse. */
  readonly ok: boolean;
  /** Final status of the run. */
  readonly status: string;
  /** Number of outputs that the migrated v2 bodies would have produced. */
  readonly expected: readonly { readonly kind: "image" | "video" | "audio" | "voice"; readonly count: number }[];
  readonly found: VerificationReport["expected"];
  readonly differences: readonly string[];
  /** Locations of the bodies that are not in the pipeline, because they are open or refused. */
  readonly uncovered: readonly string[];
}
