import type { Value } from "./handle.ts";
import { textHandle } from "./handle-value.ts";

/** What may stand in {@link text}: plain values, and values of steps. */
export type TextPiece = string | number | boolean | Value<string | number | boolean | null>;

/**
 * Text with values of steps in it, which are put in once they exist: `` text`A picture of ${story.at("title")}` `` goes
 * wherever an input takes text.
 */
export function text(literals: TemplateStringsArray, ...pieces: readonly TextPiece[]): Value<string> {
  return textHandle(
    literals.flatMap((literal, index) => (index < pieces.length ? [literal, pieces[index]] : [literal])),
  );
}
