import type { StepState } from "../journal/state.ts";
import { stepKinds } from "../plan/index.ts";
import type { Json, PlanStep } from "../plan/plan.ts";

/**
 * What a step of a kind does by itself, apart from paid requests and decisions of people: the effect of that kind performs
 * it. `input`: what it works on, resolved, with media as `{ $file: { sha256, contentType } }`; null where it has none.
 */
type OwnWork = {
  readonly [K in Exclude<PlanStep["kind"], Apart>]: {
    readonly type: K;
    readonly step: string;
    readonly input: Json;
  };
}[Exclude<PlanStep["kind"], Apart>];

type Apart = "job" | "chat" | "generate" | "approve";

/** Work for the engine; its outcome comes back as events. */
export type Command =
  | {
      readonly type: "quote";
      readonly step: string;
      readonly attempt: number;
      readonly model: string;
      /** With references to what does not exist yet, where the media that do are to be looked at. */
      readonly input: Json;
    }
  | {
      readonly type: "submit";
      readonly step: string;
      readonly attempt: number;
      readonly key: string;
      readonly model: string;
      readonly input: Json;
      /** True when an earlier send may already have made the job: then only an acknowledgement settles it. */
      readonly mayExist: boolean;
      /** Its step has changed: it is sent again only where its job may exist, or cannot be looked for. */
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
  | {
      readonly type: "generate";
      readonly step: string;
      readonly attempt: number;
      readonly key: string;
      readonly model: string;
      /** Resolved, with media as `{ $file: { sha256, contentType } }`. */
      readonly input: Json;
      /** True when an earlier send of the same key may have been taken. */
      readonly mayExist: boolean;
    }
  /** Asks a provider for the outcome of what it accepted. */
  | { readonly type: "operation"; readonly step: string; readonly attempt: number }
  | OwnWork
  /** Looks for the result of an identical request of an earlier run. */
  | { readonly type: "reuse"; readonly step: string; readonly fingerprint: string }
  | { readonly type: "place" };

/** Id of a command within its run; the same work has the same id, so that it is never performed twice at a time. */
export function commandId(command: Command): string {
  if (command.type === "place") return "place";
  const name = `${command.type}:${command.step}`;
  if (!("attempt" in command)) return name;
  return `${name}#${command.attempt}${command.type === "download" ? `.${command.index}` : ""}`;
}

/** Ids of the commands that may be active for a step before the service has accepted anything of it. */
export function localCommandIds({ path, attempts, chats }: StepState): readonly string[] {
  const local = [...stepKinds, "reuse"].map((type) => `${type}:${path}`);
  const n = attempts.length;
  const paid = [`quote:${path}#${n}`, `quote:${path}#${n + 1}`, `chat:${path}#${chats.length}`];
  return [...local, ...paid, `generate:${path}#${n}`];
}
