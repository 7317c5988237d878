import type { ChatDraft, Draft } from "../draft.ts";
import { fingerprint, referencesOf } from "../plain-json.ts";
import type { ChatStep, Reference } from "../plan.ts";
import {
  bindFreeInput,
  bindWhen,
  checkReadable,
  needsOf,
  type Planning,
  type StepFacts,
  type StepKind,
  VALUE,
} from "./kind.ts";

const ONLY_TEXT =
  "a chat accepts text and values, and pictures only in its images field; for other media, use a task or a job";
const IMAGES = /^input\.images(\[|$)/;

export const chatKind: StepKind<ChatDraft, ChatStep> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, model, schema, repairs, once, policy } = draft;
    if (planning.catalog.model(model)?.state === "live") {
      planning.report("not-a-chat-model", "model", `${model} makes media; use a chat model or job(…)`);
    } else if (planning.catalog.lacksChat(model)) {
      planning.report("unknown-model", "model", `the service has no chat model ${model}; check the id`);
    }
    const input = bindFreeInput(draft.input, "input", planning, {
      assets: ONLY_TEXT,
      reference(ref, source, field) {
        const { step } = ref;
        if (IMAGES.test(field)) return checkImage(ref, source, field, planning);
        if (ref.as === "value") return;
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
      ...(once && { once }),
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
    pricing: { by: "usage", maxCostMicros: policy.maxCostMicros, why: "chat is billed by the tokens used" },
    typicalMs: 5_000,
    modality: "chat",
    needsCode: false,
    readsFiles: referencesOf(input).some(({ as }) => as !== "value"),
    decision: null,
    submits: null,
    provider: null,
    reuse: () => ({ kind: "chat", model, schema }),
    file: null,
    standsFor: [],
    isChoice: false,
    expansion: null,
    keeps: true,
  }),
};

export function chatModelsOf({ steps }: Pick<Draft, "steps">): readonly string[] {
  return [...new Set(steps.flatMap((step) => (step.kind === "chat" ? [step.model] : [])))];
}

function checkImage(ref: Reference["$ref"], source: StepFacts, field: string, planning: Planning): void {
  const kind = ref.as === "value" || ref.as === "voice" ? "no picture" : ref.kind;
  if (source.isOpen === true || kind === "image" || kind === undefined)
    return checkReadable(ref, source, field, planning);
  const next = kind === "video" ? "; pass a thumbnail, or use inspect to judge the video" : "";
  planning.report("media-kind", field, `${ref.step} makes ${kind}, but the images field accepts only pictures${next}`);
}
