import { hash } from "node:crypto";
import { type AttemptState, lastAttempt, type RunState, type StepState, wasSent } from "../journal/state.ts";
import { ownText } from "../kit/clean-text.ts";
import { DAY_MS } from "../kit/duration.ts";
import { canonicalJson, fingerprint, traitsOf } from "../plan/index.ts";
import { mapRecord } from "../plan/plain-json.ts";
import { type Json, type PlanStep, stepNamed } from "../plan/plan.ts";
import { commandId } from "./command.ts";
import type { DecisionBuilder } from "./decision-builder.ts";
import { readiness } from "./readiness.ts";
import { readerOf, referenced } from "./resolve.ts";

/** Returns the key of an attempt. The key is the same each time the attempt is sent, and no two runs share a key. */
export function idempotencyKey(of: {
  readonly nonce: string;
  readonly step: string;
  readonly attempt: number;
  readonly model: string;
  readonly input: Json;
}): string {
  return `sr1_${hash("sha256", canonicalJson([of.nonce, of.step, of.attempt, of.model, of.input]) ?? "").slice(0, 48)}`;
}

/** How long the service is assumed to remember a key. The option `idempotencyWindowMs` overrides it. */
export const DEFAULT_IDEMPOTENCY_WINDOW_MS = DAY_MS;

export const TOO_OLD = ownText(
  "the submit request was never answered, and its idempotency key is too old to be used again",
);

/** Returns whether the service may have forgotten the attempt's key, so that a second request could be charged again. */
export function isTooOld({ intendedAt }: AttemptState, { context }: DecisionBuilder): boolean {
  return context.now - intendedAt! > context.idempotencyWindowMs;
}

export type CacheableStep = Extract<PlanStep, { readonly input: Json }>;

export interface RequestIdentity {
  readonly request: Json;
  readonly fingerprint: string;
  readonly pending: readonly { readonly step: string; readonly index: number }[];
}

export function isCacheable(plan: PlanStep): plan is CacheableStep {
  return traitsOf(plan).reuse !== null;
}

export function currentIdentity(state: RunState, plan: CacheableStep): RequestIdentity | null {
  const step = state.steps[plan.path]!;
  const sent = lastAttempt(step)?.input ?? null;
  if (sent !== null) return requestIdentity(state, plan, sent);
  const ready = readiness(state, plan, plan.input, readerOf(plan));
  return ready.ready === "yes" ? requestIdentity(state, plan, ready.input) : null;
}

/** Returns the request with its fingerprint. Identical requests have the same fingerprint, even in different runs. */
export function requestIdentity(state: RunState, plan: CacheableStep, input: Json): RequestIdentity {
  const contentOf = new Map<string, string>();
  const pending: { readonly step: string; readonly index: number }[] = [];
  for (const ref of traitsOf(plan).uses) {
    if (ref.as === "value") continue;
    for (const { step, output } of referenced(state, ref)) {
      if (output.assetId === null) continue;
      if (output.copy !== null) contentOf.set(output.assetId, output.copy.sha256);
      else if ((output.phase === "available" || output.phase === "lapsed") && isComing(state, step))
        pending.push({ step, index: output.index });
    }
  }
  const { reuse } = traitsOf(plan);
  if (reuse === null) throw new TypeError(`${plan.path} is never reused`);
  const asks = { ...reuse(state.planned.plan.pipeline, plan), input: byContent(input, contentOf) };
  return { request: asks, fingerprint: fingerprint(asks), pending };
}

function byContent(value: Json, contentOf: ReadonlyMap<string, string>): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => byContent(item, contentOf));
  const record = value as { readonly [key: string]: Json };
  const content = contentHash(record, contentOf);
  if (content !== null) return { media: content };
  return mapRecord(record, (item) => byContent(item, contentOf));
}

function contentHash(record: { readonly [key: string]: Json }, contentOf: ReadonlyMap<string, string>): string | null {
  if (record.source === "upload" && typeof record.sha256 === "string") return record.sha256;
  if (record.source === "asset" && typeof record.asset_id === "string") return contentOf.get(record.asset_id) ?? null;
  const file = record.$file as { readonly sha256?: Json } | undefined;
  return typeof file?.sha256 === "string" ? file.sha256 : null;
}

/** Returns whether the step's outputs will be downloaded. Outputs from an earlier run are never downloaded. */
function isComing({ planned, steps }: RunState, path: string): boolean {
  const step = stepNamed(planned.plan, path);
  return step !== undefined && traitsOf(step).keeps && steps[path]?.reusedFrom === null;
}

/** Starts the search for an identical earlier request, if needed. Returns true if the step must wait for it. */
export function awaitCacheLookup(plan: CacheableStep, step: StepState, input: Json, builder: DecisionBuilder): boolean {
  if (builder.state.planned.reuse !== true || step.rerunRequested || hasBegun(step)) return false;
  const id = commandId({ type: "reuse", step: plan.path, fingerprint: "" });
  if (builder.isActive(id)) return true;
  if (builder.context.notBefore.get(id) === Number.POSITIVE_INFINITY) return false;
  const { fingerprint, pending } = requestIdentity(builder.state, plan, input);
  // An input's content is known only after its download. If the download failed, nothing is reused.
  if (pending.some((output) => hasFailed(output, builder))) return false;
  if (pending.length === 0) builder.issue({ type: "reuse", step: plan.path, fingerprint });
  return true;
}

function hasFailed({ step, index }: RequestIdentity["pending"][number], { state, context }: DecisionBuilder): boolean {
  const { n: attempt, jobId } = lastAttempt(state.steps[step]!)!;
  return context.notBefore.has(commandId({ type: "download", step, attempt, jobId: jobId!, index }));
}

function hasBegun(step: StepState): boolean {
  return step.attempts.some((attempt) => attempt.kind === "try" || wasSent(attempt));
}
