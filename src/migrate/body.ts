import type { Expression } from "./expression.ts";
import { type FieldReport, valueAt } from "./field-report.ts";
import type { JsonPath } from "./json-path.ts";
import type { ModelView } from "./models/view.ts";
import type { V2Source } from "./read/source.ts";
import type { V2Type } from "./v2-types.ts";

/** A v2 body during its conversion. */
export interface Body {
  /** Position among the sources, from 0. */
  readonly index: number;
  readonly source: V2Source;
  readonly type: V2Type;
  readonly value: { readonly [key: string]: unknown };
  readonly fieldReport: FieldReport;
  /** Prefix of the body's step names, unique in the document. */
  readonly name: string;
}

/** Returns a value in the body; undefined if it is absent or null. */
export function given(body: Body, ...path: JsonPath): unknown {
  return valueAt(body.value, path) ?? undefined;
}

/** A paid job in the pipeline; it has several variations if v2 generated a batch. */
export interface ConvertedJob {
  readonly view: ModelView;
  /** Input shared by all variations. */
  readonly input: ReadonlyMap<string, Expression>;
  readonly variations: readonly Variation[];
  /** Name of the constant for the shared input in the written source; null if the input is not shared. */
  readonly sharedName: string | null;
  /** A task that runs before this job and shifts its sound; null if there is none. */
  readonly shift: Shift | null;
  /** Open decisions about this job. */
  readonly comments: readonly string[];
  /** Index of the body from which the job was converted. */
  readonly body: number;
}

/** A local task that makes a sound begin later or earlier. */
export interface Shift {
  readonly step: string;
  readonly sound: Expression;
  /** Offset in milliseconds: a positive offset cuts off the beginning, a negative offset adds silence before it. */
  readonly startMs: number;
}

export interface Variation {
  readonly step: string;
  readonly own: ReadonlyMap<string, Expression>;
}

/** The result of converting a body. */
export interface ConvertedBody {
  /** Jobs in execution order. */
  readonly jobs: readonly ConvertedJob[];
  /** The steps that produce v2's outputs, one for each variation. */
  readonly outputs: readonly string[];
  readonly yields: ModelView["yields"];
}
