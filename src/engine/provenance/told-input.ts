import { hash } from "node:crypto";
import type { RunState } from "../../journal/state.ts";
import { cleanJson } from "./clean-json.ts";
import type { Manifest } from "./provenance-schema.ts";

/** With every file it would be written as often as there are files, and rows of a table lead to a file each. */
const MOST_INPUT_LENGTH = 16_384;

type ToldInput = Pick<Manifest, "input" | "input_sha256">;

const inputs = new WeakMap<RunState["planned"], ToldInput>();

/** A run's input as its manifests say it; worked out once for all of them. */
export function toldInput(planned: RunState["planned"]): ToldInput {
  const before = inputs.get(planned);
  if (before !== undefined) return before;
  const input = cleanJson(planned.input);
  const text = JSON.stringify(input);
  const found = text.length <= MOST_INPUT_LENGTH ? { input } : { input: null, input_sha256: hash("sha256", text) };
  inputs.set(planned, found);
  return found;
}
