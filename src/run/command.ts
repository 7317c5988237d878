import type { StepState } from "../journal/state.ts";
import type { Json } from "../plan/plan.ts";

/** Something that the engine is to do; its answer comes back as events. */
export type Command =
  | { readonly type: "upload"; readonly step: string }
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
  /** `input` with media as `{ $file: { sha256, contentType } }`. */
  | { readonly type: "task"; readonly step: string; readonly input: Json }
  | { readonly type: "score"; readonly step: string }
  | { readonly type: "expand"; readonly step: string; readonly value: Json }
  /** Whether an earlier run made what the step asks for. */
  | { readonly type: "reuse"; readonly step: string; readonly fingerprint: string }
  | { readonly type: "place" };

/** Names a command within its run; the same work has the same name, so that it is never under way twice. */
export function commandId(command: Command): string {
  switch (command.type) {
    case "place":
      return "place";
    case "upload":
    case "task":
    case "score":
    case "expand":
    case "reuse":
      return `${command.type}:${command.step}`;
    case "download":
      return `download:${command.step}#${command.attempt}.${command.index}`;
    default:
      return `${command.type}:${command.step}#${command.attempt}`;
  }
}

/** Names of what may be under way for a step before the service has taken anything of it. */
export function localCommandIds({ path, attempts, chats }: StepState): readonly string[] {
  const local = ["upload", "task", "score", "expand", "reuse"].map((type) => `${type}:${path}`);
  const n = attempts.length;
  return [...local, `quote:${path}#${n}`, `quote:${path}#${n + 1}`, `chat:${path}#${chats.length}`];
}
