import type { ChatDraft } from "../draft.ts";
import { fingerprint } from "../plain-json.ts";
import type { ChatStep } from "../plan.ts";
import { referencesOf } from "../references.ts";
import { VALUE } from "./facts.ts";
import { bindFreeInput, bindWhen, needsOf } from "./free-input.ts";
import type { StepKind } from "./kind.ts";

const ONLY_TEXT = "a chat takes text and values; let a task or a job read media";

export const chatKind: StepKind<ChatDraft, ChatStep> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, model, schema, repairs, policy } = draft;
    if (planning.catalog.ids().includes(model)) {
      planning.report("not-a-chat-model", "model", `${model} makes media; give a chat model, or use job(…)`);
    }
    const input = bindFreeInput(draft.input, "input", planning, {
      assets: ONLY_TEXT,
      reference(ref, source, field) {
        if (ref.as === "value") return;
        const { step } = ref;
        const outcome = source.isOpen === true ? "does not declare that it yields values" : "makes media";
        planning.report("not-a-value", field, `${step} ${outcome}; ${ONLY_TEXT}`);
      },
    });
    const step: ChatStep = {
      kind: "chat",
      path,
      needs: needsOf(draft, draft.input),
      fingerprint: fingerprint({ kind: "chat", model, input, schema }),
      ...bindWhen(draft.when, planning),
      model,
      input,
      schema,
      repairs,
      yields: "value",
      policy,
    };
    return { step };
  },
  facts: ({ schema }) => ({ ...VALUE, schema: schema ?? { type: "string" } }),
  traits: ({ model, input, schema, policy }) => ({
    noun: "chat",
    note: model,
    subject: null,
    brackets: [">", "]"],
    icon: "value",
    uses: referencesOf(input),
    requested: { model, input, schema },
    pricing: { by: "usage", maxCostMicros: policy.maxCostMicros, why: "chat is billed by what was said" },
    typicalMs: 5_000,
    modality: "chat",
    needsCode: false,
    readsFiles: false,
    decision: null,
    submits: null,
    reuse: { identity: () => ({ kind: "chat", model, schema }) },
    file: null,
    standsFor: [],
    isChoice: false,
    expansion: null,
    keeps: true,
  }),
};
