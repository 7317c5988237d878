import type { TaskDraft } from "../draft.ts";
import { fingerprint } from "../fingerprint.ts";
import type { TaskStep } from "../plan.ts";
import { factsOf } from "./facts.ts";
import { bindFreeInput, bindWhen, checkReadable, needsOf } from "./free-input.ts";
import type { StepKind } from "./kind.ts";

export const taskKind: StepKind<TaskDraft> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, version, files, policy } = draft;
    const input = bindFreeInput(draft.input, "input", planning, {
      assets: "an asset of the service is no file on this machine; download it and pass upload(…)",
      reference: (ref, source, field) => checkReadable(ref, source, field, planning),
    });
    const step: TaskStep = {
      kind: "task",
      path,
      needs: needsOf(draft, draft.input),
      fingerprint: fingerprint({ kind: "task", input, version, files }),
      ...bindWhen(draft.when, planning),
      ...{ input, version, files, yields: files[0]?.kind ?? "value", policy },
    };
    return { step, facts: factsOf(step, planning.facts) };
  },
};
