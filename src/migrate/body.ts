import type { Expression } from "./expression.ts";
import { type FieldReport, valueAt } from "./field-report.ts";
import type { ModelView } from "./models/view.ts";
import type { JsonPath, JsonRecord, V2Source } from "./read/source.ts";
import type { V2Type } from "./v2-types.ts";

export interface Body {
  readonly index: number;
  readonly source: V2Source;
  readonly type: V2Type;
  readonly value: JsonRecord;
  readonly fieldReport: FieldReport;
  /** Prefix of the step names. */
  readonly name: string;
}

export function given(body: Body, ...path: JsonPath): unknown {
  return valueAt(body.value, path) ?? undefined;
}

export interface ConvertedJob {
  readonly view: ModelView;
  readonly input: ReadonlyMap<string, Expression>;
  readonly variations: readonly Variation[];
  /** Name of the constant that holds the shared input in the generated source. Null if there is none. */
  readonly sharedName: string | null;
  readonly shift: Shift | null;
  readonly comments: readonly string[];
  readonly body: number;
}

export interface Shift {
  readonly step: string;
  readonly sound: Expression;
  /** Offset in milliseconds. A positive offset cuts off the beginning, and a negative one adds silence. */
  readonly startMs: number;
}

export interface Variation {
  readonly step: string;
  readonly own: ReadonlyMap<string, Expression>;
}

export interface ConvertedBody {
  readonly jobs: readonly ConvertedJob[];
  /** Steps whose results replace v2's outputs. There is one step for each variation. */
  readonly outputs: readonly string[];
  readonly yields: ModelView["yields"];
}
