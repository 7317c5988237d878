import type { Position } from "../../core/kit/json-text.ts";
import type { JsonPath } from "../json-path.ts";
import type { Target } from "./template.ts";

export interface V2Source {
  readonly at: string;
  readonly value: unknown;
  readonly path: JsonPath;
  readonly label: string | null;
  readonly is: "generation" | "asset";
  readonly resolve: ((target: Target) => Resolved) | null;
}

export type Resolved =
  | { readonly to: "source"; readonly index: number }
  | { readonly to: "outside"; readonly name: string };

export interface ReadProblem {
  readonly code: string;
  readonly at: string;
  readonly path: JsonPath | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

export interface ReadBodies {
  readonly sources: readonly V2Source[];
  readonly problems: readonly ReadProblem[];
  readonly left: readonly { readonly at: string; readonly why: string }[];
  readonly format: "body" | "list" | "lines" | "flow" | "none";
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
