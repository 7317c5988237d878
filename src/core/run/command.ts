import type { StepState } from "../journal/state.ts";
import { type Json, type PlanStep, type ProviderKind, stepKinds } from "../plan/plan.ts";

/**
 * A command for a step that needs neither a paid request nor a person. Media in `input` have the form `{ $file: {
 * sha256, contentType } }`.
 */
type OwnWork = {
  readonly [K in Exclude<PlanStep["kind"], Apart | ProviderKind>]: {
    readonly type: K;
    readonly step: string;
    readonly input: Json;
  };
}[Exclude<PlanStep["kind"], Apart | ProviderKind>];

type Apart = "job" | "chat" | "approve";

/** A request to a provider's model. */
export type ProviderRequest = {
  readonly [K in ProviderKind]: {
    readonly type: K;
    readonly step: string;
    readonly attempt: number;
    readonly key: string;
    readonly model: string;
    /** The resolved input, with media as `{ $file: { sha256, contentType } }`. */
    readonly input: Json;
    /** True if an earlier request with the same key may have been accepted. */
    readonly mayExist: boolean;
  };
}[ProviderKind];

/** A command to the engine, which executes it and reports the outcome as events. */
export type Command =
  | {
      readonly type: "quote";
      readonly step: string;
      readonly attempt: number;
      readonly model: string;
      /** The input. It may still contain references to outputs that do not exist yet. */
      readonly input: Json;
    }
  | {
      readonly type: "submit";
      readonly step: string;
      readonly attempt: number;
      readonly key: string;
      readonly model: string;
      readonly input: Json;
      /** True if an earlier request may have created the job. */
      readonly mayExist: boolean;
      /** True if a changed pipeline replaces the step. */
      readonly isReplaced?: true;
    }
  | { readonly type: "follow"; readonly step: string; readonly attempt: number; readonly jobId: string }
  | { readonly type: "settle"; readonly step: string; readonly attempt: number; readonly jobId: string }
  | {
      readonly type: "download";
      readonly step: string;
      readonly attempt: number;
      readonly jobId: string;
      readonly index: number;
    }
  | {
      readonly type: "chat";
      readonly step: string;
      readonly attempt: number;
      readonly model: string;
      readonly input: Json;
      readonly maxCostMicros: number;
    }
  | ProviderRequest
  /** Asks a provider for the outcome of a request that it accepted. */
  | { readonly type: "operation"; readonly step: string; readonly attempt: number }
  | OwnWork
  /** Looks for the result of an identical request from an earlier run. */
  | { readonly type: "reuse"; readonly step: string; readonly fingerprint: string }
  | { readonly type: "place" };

/** Returns an id for a command. Commands with the same id never run at the same time. */
export function commandId(command: Command): string {
  if (command.type === "place") return "place";
  const name = `${command.type}:${command.step}`;
  if (!("attempt" in command)) return name;
  return `${name}#${command.attempt}${command.type === "download" ? `.${command.index}` : ""}`;
}

export function localCommandIds({ path, attempts }: StepState): readonly string[] {
  const n = attempts.length;
  const own = stepKinds.flatMap((kind) => [`${kind}:${path}`, `${kind}:${path}#${n}`]);
  return [...own, `reuse:${path}`, `quote:${path}#${n}`, `quote:${path}#${n + 1}`];
}
