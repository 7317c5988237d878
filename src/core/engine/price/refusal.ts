import { ApiError, answerOf } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { outputsOf, type RunState } from "../../journal/state.ts";
import { cleanText } from "../../kit/clean-text.ts";
import type { Json, Problem } from "../../plan/plan.ts";
import { FOR_CALLERS } from "../../plan/step.ts";
import { lapse } from "../../run/retention.ts";
import type { PendingPlace, PlaceholderInput, Requested } from "./placeholder-input.ts";

export const MODERATED = "moderated";

type Conditions = PlaceholderInput["conditions"];

/** Returns true if the service permanently refused a request because of its input, not because of its sender. */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  const { status, retryable } = error;
  return !retryable && status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status);
}

/**
 * Converts a refused estimate to problems of the plan. A refusal that concerns a placeholder becomes a condition
 * instead of a problem, because the real value may be accepted.
 */
export function readRefusal(
  step: Pick<Requested, "path" | "model">,
  error: ApiError,
  pending: readonly PendingPlace[],
): { readonly problems: readonly Problem[]; readonly conditions: Conditions } {
  const about = problemsOf(step, error).map((problem) => ({ problem, places: placesOf(problem, error, pending) }));
  return {
    problems: about.flatMap(({ problem, places }) => (places === null ? [problem] : [])),
    conditions: about.flatMap(({ problem, places }) => conditionsOf(problem, places ?? [])),
  };
}

/** True if expired upload handles may have caused the refusal. */
export function isLapse(error: unknown, { input, pending }: Pick<PlaceholderInput, "input" | "pending">): boolean {
  if (!isRefusal(error) || answerOf(error) !== "400 media" || !readsUploads(input)) return false;
  const { problems, conditions } = readRefusal({ path: "", model: "" }, error, pending);
  return problems.length + conditions.length > 0;
}

function conditionsOf({ field, message }: Problem, places: readonly PendingPlace[]): Conditions {
  const text = `refused as an input, because the service rejected the placeholder that was sent in place of its output: ${field === null ? "" : `${field}: `}${message}`;
  return places.flatMap(({ step, by }) => (by === null ? [] : [{ step, message: `${step} may be ${text}` }]));
}

function placesOf({ field }: Problem, error: ApiError, pending: readonly PendingPlace[]) {
  if (pending.length === 0 || error.replacedBy !== null) return null;
  if (error.status === 404 && pending.some(({ by }) => by === null)) return pending;
  if (error.status !== 400) return null;
  // Other codes, and refusals without a field, concern the whole request.
  if (error.code !== "INVALID_ARGUMENT" || field === null || pending.some(({ isChoice }) => isChoice)) return pending;
  const at = dotted(field);
  const found = pending.filter((place) => isWithin(at, dotted(place.field).replace(/\.\d+$/, "")));
  return found.length === 0 ? null : found;
}

function isWithin(field: string, outer: string): boolean {
  return field === outer || field.startsWith(`${outer}.`);
}

function dotted(field: string): string {
  return field.replaceAll(/\[(\d+)\]/g, ".$1").replace(/^input\./, "");
}

function problemsOf({ path: step, model }: Pick<Requested, "path" | "model">, error: ApiError): readonly Problem[] {
  const details = error.details ?? [];
  if (error.replacedBy !== null) {
    const replacedBy = cleanText(error.replacedBy, 200);
    const message = `${model} is retired; use ${replacedBy} instead`;
    return [{ code: "retired-model", step, field: "model", message, replacedBy }];
  }
  if (error.code === "MODERATION_FAILED") {
    const category = details[0]?.reason ?? null;
    const what = category === null ? "" : ` (${category})`;
    const message = cleanText(`was refused by moderation${what}: ${error.serviceMessage}`);
    return [{ code: MODERATED, step, field: error.param === null ? null : cleanText(error.param, 300), message }];
  }
  if (details.length === 0) {
    const field = error.param === null ? null : cleanText(error.param, 300);
    return [{ code: "refused", step, field, message: cleanText(error.message) }];
  }
  return details.map(({ field, reason, message }) => ({
    // Only local functions can write messages for callers, so ignore this reason in a service's response.
    code: reason === null || reason === FOR_CALLERS ? "refused" : cleanText(reason, 100),
    step,
    field: cleanText(field, 300),
    message: cleanText(message),
  }));
}

export function readsUploads(input: Json): boolean {
  return JSON.stringify(input).includes('"source":"upload"');
}

/**
 * Returns events that record which outputs the service no longer accepts as inputs, so that their files are uploaded
 * instead.
 */
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
      // Include outputs that another step has already found to be gone, because the refused input was built before
      // that.
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
