import { ApiError, answerOf } from "../../api/index.ts";
import { cleanText } from "../../kit/clean-text.ts";
import { FOR_CALLERS, type Problem } from "../../plan/plan.ts";
import { readsUploads } from "../media/expired.ts";
import type { PendingPlace, PlaceholderInput, Requested } from "./placeholder-input.ts";

export const MODERATED = "moderated";

type Conditions = PlaceholderInput["conditions"];

/** True if the service permanently refused this particular input, and did not refuse the caller. */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  const { status, retryable } = error;
  return !retryable && status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status);
}

/** Converts a refused estimate to plan problems. If only a placeholder was refused, the step stays valid under a condition. */
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
  const text = `refused, because the service rejected the placeholder that was sent for its output: ${field === null ? "" : `${field}: `}${message}`;
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
    // Only local functions may address callers, so ignore this reason in a service's response.
    code: reason === null || reason === FOR_CALLERS ? "refused" : cleanText(reason, 100),
    step,
    field: cleanText(field, 300),
    message: cleanText(message),
  }));
}
