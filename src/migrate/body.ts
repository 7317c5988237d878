import type { Expression } from "./expression.ts";
import { type FieldReport, valueAt } from "./field-report.ts";
import type { JsonPath } from "./json-path.ts";
import type { ModelView } from "./models/view.ts";
import type { V2Source } from "./read/source.ts";
import type { V2Type } from "./v2-types.ts";

export interface Body {
  /** Position among the sources, starting at 0. */
  readonly index: number;
  readonly source: V2Source;
  readonly type: V2Type;
  readonly value: { readonly [key: string]: unknown };
  readonly fieldReport: FieldReport;
  /** Prefix of the names of the body's steps, which is unique in the document. */
  readonly name: string;
}

/** Returns the value at a path, or undefined if it is absent or null. */
export function given(body: Body, ...path: JsonPath): unknown {
  return valueAt(body.value, path) ?? undefined;
}

export interface ConvertedJob {
  readonly view: ModelView;
  readonly input: ReadonlyMap<string, Expression>;
  readonly variations: readonly Variation[];
  /** Name of the constant for the shared input in the generated source. Null if there is none. */
  readonly sharedName: string | null;
  readonly shift: Shift | null;
  readonly comments: readonly string[];
  readonly body: number;
}

export interface Shift {
  readonly step: string;
  readonly sound: Expression;
  /** Offset in milliseconds. If positive, the beginning is cut off. If negative, silence is added before it. */
  readonly startMs: number;
}

export interface Variation {
  readonly step: string;
  readonly own: ReadonlyMap<string, Expression>;
}

export interface ConvertedBody {
  readonly jobs: readonly ConvertedJob[];
  /** Names of the steps that produce the outputs of v2, one for each variation. */
  readonly outputs: readonly string[];
  readonly yields: ModelView["yields"];
}
