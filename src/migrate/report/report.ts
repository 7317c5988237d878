import type { Json } from "../../core/plan/plan.ts";
import type { PipelineInput } from "../expression.ts";

const MODEL = /(?:^|\.)(?:model_slug|ai_model_id|model_id)$/;
const VOICE = /(?:^|\.)voice_id$/;

/** Collects the decisions of all bodies. If several bodies raise the same question, it becomes a single decision. */
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

/** Returns a key for a lost field. It contains no list indexes, so that the same field of several items counts once. */
export function lossKey({ field, why }: Pick<FieldEntry, "field" | "why">): string {
  return `${field.replace(/\[\d+\]/g, "[]")}: ${why ?? ""}`;
}

/**
 * Returns the media, prompts, shots and voices that migrated bodies contain but no step uses. Each is formatted as
 * `body 3: field: why`.
 */
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

export type Outcome = "carried" | "renamed" | "converted" | "defaulted" | "dropped" | "decision";

/** How the migration handled one field of a v2 body. */
export interface FieldEntry {
  /** Path of the field within the body. */
  readonly field: string;
  /** Whether the body contains the field. If not, the migration added it because v3 needs it. */
  readonly given: boolean;
  readonly outcome: Outcome;
  /** The value in the v2 body. Null if it is absent. */
  readonly value: Json;
  /** The step and the field that receive the value, as `step: field`. Null if no step uses it. */
  readonly to: string | null;
  /** The value in the pipeline; null if there is none. */
  readonly newValue: Json;
  /** Why the field was changed, filled in, omitted or left open. */
  readonly why: string | null;
  /** Possible answers to a decision. The generated source uses the first. */
  readonly choices: readonly string[];
  /** Set if v2 used this value and the pipeline does not. The user must accept the loss. */
  readonly isLost?: true;
}

export interface BodyReport {
  /** Number of the body in document order, starting at 1. */
  readonly number: number;
  /** Location, such as `body 3`, `line 3` or `node "Portrait"`. */
  readonly at: string;
  readonly type: string;
  /**
   * What happened to the body. `migrated`: steps replace it. `asset`: it is a file to supply. `open`: no known v3 model
   * accepts it. `refused`: v2 itself would refuse it.
   */
  readonly status: "migrated" | "asset" | "open" | "refused";
  /** Names of the body's steps, in execution order. */
  readonly steps: readonly string[];
  /** Names of the steps that produce the body's outputs, one for each variation. */
  readonly outputs: readonly string[];
  /** The outputs that v2 would have returned. */
  readonly makes: { readonly kind: "image" | "video" | "audio" | "voice"; readonly count: number };
  readonly fields: readonly FieldEntry[];
  /** The v2 body, if its status is `open` or `refused`. Otherwise null. */
  readonly body: Json;
}

/** A decision that a person must make before the pipeline is used in production. It may concern several fields. */
export interface Decision {
  readonly code: string;
  /** The bodies and fields that the decision concerns, such as `body 3: audio_start_ms`. */
  readonly where: readonly string[];
  readonly question: string;
  /** Possible answers. The pipeline currently uses the first. */
  readonly choices: readonly string[];
  /** Identifies the answer in the decisions file. Null if the decision can be made only in the source. */
  readonly answer: { readonly about: "model" | "voice" | "loss"; readonly key: string } | null;
}

/** An invalid part of the document. It was not migrated. */
export interface MigrationProblem {
  readonly code: string;
  readonly at: string;
  /** Path of the field within the body. Null if the problem concerns no field. */
  readonly field: string | null;
  /** Line number, starting at 1. Null if the input was a value instead of text. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

export interface MigratedStep {
  readonly name: string;
  readonly model: string;
  readonly yields: "image" | "video" | "audio" | "voice";
  /** Position of the v2 body that the step replaces, counted from 1. */
  readonly body: number;
}

/** The result of a migration: the outcome of every field, open decisions, and parts that v3 does not support. */
export interface MigrationReport {
  readonly version: 1;
  readonly pipeline: string;
  /** SHA-256 of the generated source, to detect later edits. Null if there is no source. */
  readonly sourceSha256: string | null;
  readonly format: "body" | "list" | "lines" | "flow" | "none";
  readonly bodies: readonly BodyReport[];
  readonly steps: readonly MigratedStep[];
  /** Inputs that the user supplies when the pipeline is run. */
  readonly inputs: readonly PipelineInput[];
  readonly decisions: readonly Decision[];
  readonly problems: readonly MigrationProblem[];
  /** Parts of the document that are not request bodies, such as wait nodes in a flow. */
  readonly left: readonly { readonly at: string; readonly why: string }[];
  /** Prices of the jobs. Null until `estimateMigration` has run. */
  readonly price: PriceReport | null;
  /** Result of the verification. Null until `verifyMigration` has run. */
  readonly verification: VerificationReport | null;
}

export interface StepPriceReport {
  readonly step: string;
  readonly model: string | null;
  /** Price in US dollars as a decimal string. Null if the service cannot quote the step in advance. */
  readonly cost: string | null;
  /**
   * How the price was determined. `quoted`: the service priced this input. `provisional`: the service priced the input
   * with placeholders for media that do not exist yet. `unquotable`: there is no price in advance.
   */
  readonly basis: string;
  readonly why: string | null;
}

export interface PriceReport {
  /** Name of the service that quoted the prices. */
  readonly service: string;
  readonly steps: readonly StepPriceReport[];
  /** Sum of the known prices, in US dollars as a decimal string. Null if no price is known. */
  readonly min: string | null;
  /** Maximum total price. Null if a job has no known price; otherwise the same as `min`. */
  readonly max: string | null;
  readonly why: string | null;
}

export interface VerificationReport {
  /**
   * Whether the run succeeded and produced everything that the v2 bodies asked for, not counting bodies that v2 itself
   * would refuse.
   */
  readonly ok: boolean;
  readonly status: string;
  /** Outputs that v2 would have returned for the migrated bodies, by kind. */
  readonly expected: readonly { readonly kind: "image" | "video" | "audio" | "voice"; readonly count: number }[];
  readonly found: VerificationReport["expected"];
  readonly differences: readonly string[];
  /** Locations of the bodies that the pipeline does not replace, because their status is `open` or `refused`. */
  readonly uncovered: readonly string[];
}
