import type { JsonPath } from "../json-path.ts";
import type { Target } from "./template.ts";

/** One v2 body, or one record of an uploaded asset, as it was found. */
export interface V2Source {
  /** Where: `body 3`, `line 3`, `node "Make portrait"`. */
  readonly at: string;
  readonly value: unknown;
  /** Place within the document or the line. */
  readonly path: JsonPath;
  /** Name that the flow gives it. */
  readonly label: string | null;
  /** `asset`: what POST /assets got. */
  readonly is: "generation" | "asset";
  /** What an expression of this body stands for; in a flow only. */
  readonly resolve: ((target: Target) => Resolved) | null;
}

export type Resolved =
  /** The output of another source, by its position in the list. */
  | { readonly to: "source"; readonly index: number }
  /** Something that comes from outside, by a name that is the same wherever it is used. */
  | { readonly to: "outside"; readonly name: string };

/** Something that could not be read as a v2 body. */
export interface ReadProblem {
  readonly code: string;
  /** As {@link V2Source.at}. */
  readonly at: string;
  /** Path of the value at fault within the document, or null when there is none. */
  readonly path: JsonPath | null;
  /** 1-based, where the text is known. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

/** What a document holds. */
export interface ReadBodies {
  readonly sources: readonly V2Source[];
  readonly problems: readonly ReadProblem[];
  /** Parts of the document that are no bodies, and why they are not migrated. */
  readonly left: readonly LeftPart[];
  /** The format that it was recognised as. */
  readonly format: "body" | "list" | "lines" | "flow" | "none";
  /** Finds the places of values in the text, all at once; null where there is no text. */
  readonly locate:
    | ((paths: readonly { readonly source: V2Source; readonly path: JsonPath }[]) => readonly Place[])
    | null;
}

export interface LeftPart {
  readonly at: string;
  readonly why: string;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

export function readProblem(code: string, at: string, path: JsonPath | null, message: string): ReadProblem {
  return { code, at, path, line: null, column: null, message };
}
