import type { ApiError } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { outputsOf, type RunState } from "../../journal/state.ts";
import type { Json } from "../../plan/plan.ts";
import { lapse } from "../../run/retention.ts";

export function readsUploads(input: Json): boolean {
  return JSON.stringify(input).includes('"source":"upload"');
}

/** Records which outputs the service no longer accepts as inputs, so that their files are uploaded instead. */
export function lapsedOutputs(state: RunState, input: Json, refusal: unknown): readonly RunEvent[] {
  const error = refusal as ApiError;
  const idsAt = (fields: readonly string[]) => fields.flatMap((field) => assetIds(within(input, field)));
  const expired = fieldsWith(error, "expired");
  const named = idsAt(expired);
  const missing = new Set(named.length > 0 || expired.length === 0 ? named : assetIds(input));
  const unknown = new Set(idsAt(fieldsWith(error, "not_found")));
  return Object.values(state.steps).flatMap((step) => {
    const isReused = step.outputs !== null;
    return outputsOf(step).flatMap(({ phase, assetId, index }): readonly RunEvent[] => {
      // Another step may already have found the output gone, because the refused input was built earlier.
      const wasCreated = phase !== "pending" && phase !== "failed";
      const isGone = assetId !== null && (missing.has(assetId) || (isReused && unknown.has(assetId)));
      return wasCreated && isGone ? [lapse(step, { index })] : [];
    });
  });
}

function fieldsWith({ details }: ApiError, requested: "expired" | "not_found"): readonly string[] {
  return (details ?? []).flatMap(({ reason, field }) => (reason === requested ? [field] : []));
}

function within(input: Json, field: string): Json {
  let found = input;
  const keys = field.match(/[^.[\]]+/g) ?? [];
  for (const key of keys[0] === "input" ? keys.slice(1) : keys) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return found;
    const next = (found as { readonly [key: string]: Json })[key]!;
    if (typeof next !== "object") return found;
    found = next;
  }
  return found;
}

function assetIds(input: Json): readonly string[] {
  return [...JSON.stringify(input).matchAll(/"asset_id":"([^"]+)"/g)].map((match) => match[1]!);
}
