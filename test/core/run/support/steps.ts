import type { ApproveStep } from "../../../../src/core/plan/kinds/approve.ts";
import type { ChatStep } from "../../../../src/core/plan/kinds/chat.ts";
import type { ExpandStep } from "../../../../src/core/plan/kinds/expand.ts";
import type { GenerateStep } from "../../../../src/core/plan/kinds/generate.ts";
import type { PickStep } from "../../../../src/core/plan/kinds/pick.ts";
import type { TaskStep } from "../../../../src/core/plan/kinds/task.ts";
import type { UploadStep } from "../../../../src/core/plan/kinds/upload.ts";
import type { Json, Reference, StepPolicy } from "../../../../src/core/plan/plan.ts";
import { needsOf, policy } from "./plans.ts";

/** Creates steps of every kind except jobs; all their references become edges. */

const base = (path: string, input: Json = {}) => ({ path, needs: needsOf(input), fingerprint: `f1_${path}` });

export function valueRef(step: string, at?: readonly string[], output: number | "all" = 0): Reference {
  return { $ref: { step, as: "value", output, ...(at !== undefined && { at }) } };
}

export function uploadRef(step: string): Reference {
  return { $ref: { step, as: "upload", output: 0, kind: "image" } };
}

export function gate(
  path: string,
  shows: readonly Reference[],
  choose = false,
  message: string | null = null,
): ApproveStep {
  return { kind: "approve", ...base(path, shows as Json), shows, choose, message, yields: "image" };
}

export function pick(path: string, among: readonly Reference[], by: PickStep["by"] = "first"): PickStep {
  const version = by === "first" ? null : "1";
  return { kind: "pick", ...base(path, among as Json), among, by, version, yields: "image" };
}

export function task(path: string, input: Json = {}, own: Partial<StepPolicy> = {}): TaskStep {
  const rest = { input, version: "1", files: [], yields: "value", policy: { ...policy, ...own } } as const;
  return { kind: "task", ...base(path, input), ...rest };
}

export function generate(path: string, promise: GenerateStep["promise"] = "once"): GenerateStep {
  const rest = { model: "mock.image:painter", provider: "mock", input: {}, yields: "image", outputs: 1 } as const;
  return { kind: "generate", ...base(path), ...rest, promise, policy: { ...policy, maxCostMicros: 50 } };
}

export function chat(
  path: string,
  own: Partial<StepPolicy> = {},
  repairs = 0,
  input: Json = { messages: [] },
): ChatStep {
  const rest = { model: "talk", input, schema: null, repairs, yields: "value" } as const;
  return { kind: "chat", ...base(path, input), ...rest, policy: { ...policy, maxCostMicros: 50, ...own } };
}

export function upload(path: string): UploadStep {
  const file = { path: "/f", sha256: "0".repeat(64), sizeBytes: 1, contentType: "image/png" };
  return { kind: "upload", ...base(path), yields: "image", file };
}

export function expansion(path: string, on: Reference): ExpandStep {
  const rest = { maxSteps: 5, version: "1", yields: "image", maxCostMicros: null } as const;
  return { kind: "expand", ...base(path, on as Json), on, ...rest };
}
