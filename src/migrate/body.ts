import type { Expression } from "./expression.ts";
import { type FieldReport, valueAt } from "./field-report.ts";
import type { JsonPath } from "./json-path.ts";
import type { ModelView } from "./models/view.ts";
import type { V2Source } from "./read/source.ts";
import type { V2Type } from "./v2-types.ts";

/** A v2 request body that is being converted. */
export interface Body {
  /** Position among the sources, from 0. */
  readonly index: number;
  readonly source: V2Source;
  readonly type: V2Type;
  readonly value: { readonly [key: string]: unknown };
  readonly fieldReport: FieldReport;
  /** Prefix of the names of the body's steps, unique in the document. */
  readonly name: string;
}

/** Returns the value at a path in the body. Undefined if it is absent or null. */
export function given(body: Body, ...path: JsonPath): unknown {
  return valueAt(body.value, path) ?? undefined;
}

/** A paid job in the pipeline. It has several variations if the v2 body requested several. */
export interface ConvertedJob {
  readonly view: ModelView;
  /** Input fields that all variations share. */
  readonly input: ReadonlyMap<string, Expression>;
  readonly variations: readonly Variation[];
  /** Name of the constant for the shared input in the generated source; null if there is none. */
  readonly sharedName: string | null;
  /** A task that shifts the job's sound before the job runs; null if there is none. */
  readonly shift: Shift | null;
  readonly comments: readonly string[];
  /** Index of the v2 body that was converted to this job. */
  readonly body: number;
}

/** A local task that makes a sound begin later or earlier. */
export interface Shift {
  readonly step: string;
  readonly sound: Expression;
  /** Offset in milliseconds. A positive offset cuts off the beginning; a negative one adds silence before it. */
  readonly startMs: number;
}

export interface Variation {
  readonly step: string;
  readonly own: ReadonlyMap<string, Expression>;
}

export interface ConvertedBody {
  /** Jobs in execution order. */
  readonly jobs: readonly ConvertedJob[];
  /** Names of the steps that produce what v2 would have returned, one for each variation. */
  readonly outputs: readonly string[];
  readonly yields: ModelView["yields"];
}
