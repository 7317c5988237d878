import type { StepState } from "../journal/state.ts";
import { stepKinds } from "../plan/index.ts";
import type { Json, PlanStep } from "../plan/plan.ts";

/**
 * What a step of a kind does by itself, apart from jobs, chats and decisions of people: the effect of that kind performs
 * it. `input`: what it works on, resolved, with media as `{ $file: { sha256, contentType } }`; null where it has none.
 */
type OwnWork = {
  readonly [K in Exclude<PlanStep["kind"], "job" | "chat" | "approve">]: {
    readonly type: K;
    readonly step: string;
    readonly input: Json;
  };
}[Exclude<PlanStep["kind"], "job" | "chat" | "approve">];

/** Something that the engine is to do; its answer comes back as events. */
export type Command =
  | {
      readonly type: "quote";
      readonly step: string;
      readonly attempt: number;
      readonly model: string;
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
  | OwnWork
  /** Whether an earlier run made what the step asks for. */
  | { readonly type: "reuse"; readonly step: string; readonly fingerprint: string }
  | { readonly type: "place" };

/** Names a command within its run; the same work has the same name, so that it is never under way twice. */
export function commandId(command: Command): string {
  if (command.type === "place") return "place";
  const name = `${command.type}:${command.step}`;
  if (!("attempt" in command)) return name;
  return `${name}#${command.attempt}${command.type === "download" ? `.${command.index}` : ""}`;
}

/** Names of what may be under way for a step before the service has taken anything of it. */
export function localCommandIds({ path, attempts, chats }: StepState): readonly string[] {
  const local = [...stepKinds, "reuse"].map((type) => `${type}:${path}`);
  const n = attempts.length;
  return [...local, `quote:${path}#${n}`, `quote:${path}#${n + 1}`, `chat:${path}#${chats.length}`];
}
