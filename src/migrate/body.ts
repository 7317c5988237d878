import type { Expression } from "./expression.ts";
import { type FieldReport, valueAt } from "./field-report.ts";
import type { JsonPath } from "./json-path.ts";
import type { ModelView } from "./models/view.ts";
import type { V2Source } from "./read/source.ts";
import type { V2Type } from "./v2/types.ts";

/** A v2 body on its way. */
export interface Body {
  /** Position among the sources, from 0. */
  readonly index: number;
  readonly source: V2Source;
  readonly type: V2Type;
  readonly value: { readonly [key: string]: unknown };
  readonly fieldReport: FieldReport;
  /** What its steps are called, free of others' names. */
  readonly name: string;
}

/** A value of the body; null counts as not given. */
export function given(body: Body, ...path: JsonPath): unknown {
  return valueAt(body.value, path) ?? undefined;
}

/** A paid job as it will stand in the pipeline; several when v2 made a batch. */
export interface ConvertedJob {
  readonly view: ModelView;
  /** What all variations share. */
  readonly input: ReadonlyMap<string, Expression>;
  readonly variations: readonly Variation[];
  /** Name of the shared input in the source, where there are several variations. */
  readonly sharedName: string | null;
  /** Made before it: the sound that it takes, moved in time. */
  readonly shift: Shift | null;
  /** What there is to decide about it. */
  readonly comments: readonly string[];
  /** Position of its body. */
  readonly body: number;
}

/** A local task that begins a sound later or earlier. */
export interface Shift {
  readonly step: string;
  readonly sound: Expression;
  /** Milliseconds; above 0 are cut off, below 0 are silence before the sound. */
  readonly startMs: number;
}

export interface Variation {
  readonly step: string;
  readonly own: ReadonlyMap<string, Expression>;
}

/** What a body became. */
export interface ConvertedBody {
  /** In the order in which they run. */
  readonly jobs: readonly ConvertedJob[];
  /** Steps that stand for what v2 would have made, by variation. */
  readonly outputs: readonly string[];
  readonly yields: ModelView["yields"];
}
