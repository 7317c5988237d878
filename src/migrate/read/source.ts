import type { Position } from "../../core/kit/json-text.ts";
import type { JsonPath } from "../json-path.ts";
import type { Target } from "./template.ts";

/** A v2 body, or a record of an uploaded asset, as found in the document. */
export interface V2Source {
  /** Location, such as `body 3`, `line 3` or `node "Make portrait"`. */
  readonly at: string;
  readonly value: unknown;
  /** Path within the document or the line. */
  readonly path: JsonPath;
  /** Name of the source's node in the flow; null outside flows. */
  readonly label: string | null;
  /** `asset`: a request or response of POST /assets. */
  readonly is: "generation" | "asset";
  /** Resolves an expression in this body; null outside flows. */
  readonly resolve: ((target: Target) => Resolved) | null;
}

export type Resolved =
  /** The output of another source, given by its index in the list. */
  | { readonly to: "source"; readonly index: number }
  /** An external value, with a name that is the same wherever the value is used. */
  | { readonly to: "outside"; readonly name: string };

/** Something that could not be parsed as a v2 body. */
export interface ReadProblem {
  readonly code: string;
  /** Location, as in {@link V2Source.at}. */
  readonly at: string;
  /** Path of the invalid value within the document; null if there is none. */
  readonly path: JsonPath | null;
  /** Line number from 1; null if the text is not known. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

/** The contents of a document. */
export interface ReadBodies {
  readonly sources: readonly V2Source[];
  readonly problems: readonly ReadProblem[];
  /** Parts of the document that are not bodies, and why they are not migrated. */
  readonly left: readonly { readonly at: string; readonly why: string }[];
  /** The detected format. */
  readonly format: "body" | "list" | "lines" | "flow" | "none";
  /** Locates values by their source and path, in a single pass; null if there is no text. */
  readonly locate:
    | ((values: readonly { readonly at: string; readonly path: JsonPath }[]) => readonly Position[])
    | null;
}

export function readProblem(code: string, at: string, path: JsonPath | null, message: string): ReadProblem {
  return { code, at, path, line: null, column: null, message };
}

/** The result for a document that cannot be read. */
export function unreadable(code: string, message: string, position: Position = { line: 1, column: 1 }): ReadBodies {
  const problem = { ...readProblem(code, "the document", null, message), ...position };
  return { format: "none", left: [], sources: [], problems: [problem], locate: null };
}
