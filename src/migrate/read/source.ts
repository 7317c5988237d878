import type { Position } from "../../core/kit/json-text.ts";
import type { JsonPath } from "../json-path.ts";
import type { Target } from "./template.ts";

export interface V2Source {
  /** Location, such as `body 3`, `line 3` or `node "Make portrait"`. */
  readonly at: string;
  readonly value: unknown;
  readonly path: JsonPath;
  /** Name of the source's node in the automation flow. Null if there is no flow. */
  readonly label: string | null;
  readonly is: "generation" | "asset";
  /** Finds the target of an expression in this body. Null if there is no flow. */
  readonly resolve: ((target: Target) => Resolved) | null;
}

export type Resolved =
  | { readonly to: "source"; readonly index: number }
  /** A value that the document does not contain. It has the same name wherever it is used. */
  | { readonly to: "outside"; readonly name: string };

export interface ReadProblem {
  readonly code: string;
  readonly at: string;
  readonly path: JsonPath | null;
  /** Line number, starting at 1. Null if the text is not known. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

export interface ReadBodies {
  readonly sources: readonly V2Source[];
  readonly problems: readonly ReadProblem[];
  readonly left: readonly { readonly at: string; readonly why: string }[];
  readonly format: "body" | "list" | "lines" | "flow" | "none";
  /** Returns the positions of values. Null if there is no text. */
  readonly locate:
    | ((values: readonly { readonly at: string; readonly path: JsonPath }[]) => readonly Position[])
    | null;
}

export function readProblem(code: string, at: string, path: JsonPath | null, message: string): ReadProblem {
  return { code, at, path, line: null, column: null, message };
}

export function unreadable(code: string, message: string, position: Position = { line: 1, column: 1 }): ReadBodies {
  const problem = { ...readProblem(code, "the document", null, message), ...position };
  return { format: "none", left: [], sources: [], problems: [problem], locate: null };
}
