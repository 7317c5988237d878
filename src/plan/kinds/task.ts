import type { TaskDraft } from "../draft.ts";
import { fingerprint } from "../plain-json.ts";
import type { TaskStep } from "../plan.ts";
import { referencesOf } from "../references.ts";
import { MEDIA, VALUE } from "./facts.ts";
import { bindFreeInput, bindWhen, checkReadable, needsOf } from "./free-input.ts";
import { NO_REQUESTS, type StepKind } from "./kind.ts";

export const taskKind: StepKind<TaskDraft, TaskStep> = {
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
    return { step };
  },
  facts({ files, yields }) {
    const kinds = files.map(({ kind }) => kind);
    return kinds.length === 0 ? VALUE : { ...MEDIA, yields, outputs: kinds.length, kinds, hasValue: true };
  },
  traits: ({ path, input, version, files }) => ({
    noun: "local task",
    note: files.length === 0 ? "task" : `task: ${files.map(({ name }) => name).join(", ")}`,
    subject: null,
    brackets: ["(", ")"],
    icon: "value",
    uses: referencesOf(input),
    requested: { input, version, files },
    pricing: { by: "nothing" },
    requests: NO_REQUESTS,
    requestsAtMost: NO_REQUESTS,
    typicalMs: 2_000,
    modality: "task",
    needsCode: true,
    readsFiles: true,
    decision: null,
    submits: null,
    // A function is known by its place alone.
    reuse: { identity: (pipeline) => ({ kind: "task", function: `${pipeline}/${path}`, version, files }) },
    file: null,
    standsFor: [],
    isChoice: false,
    expansion: null,
    keeps: true,
  }),
};
