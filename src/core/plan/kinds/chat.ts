import { fingerprint, referencesOf } from "../plain-json.ts";
import type { DraftJson, DraftStepBase, Json, Reference, StepBase, StepPolicy } from "../step.ts";
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

/**
 * A request to a chat model, executed at least once. The service has no idempotency keys for chats, so a crash may lead
 * to a second paid request. Requires `maxCostMicros`, for the step or for the run.
 */
export interface ChatStep extends StepBase {
  readonly kind: "chat";
  readonly model: string;
  /** Request body without `model`: `messages` and the service's other fields, with {@link Reference}s to values. */
  readonly input: Json;
  /** JSON Schema that the answer must match. Null if the answer is plain text. */
  readonly schema: Json | null;
  /** How many times an answer that does not match the schema may be sent back to be repaired. */
  readonly repairs: number;
  /**
   * True if an unanswered request is never resent, because it may have been charged. If absent, Showrunner may resend
   * the request.
   */
  readonly once?: true;
  readonly yields: "value";
  readonly policy: StepPolicy;
}

export interface ChatDraft extends DraftStepBase {
  readonly kind: "chat";
  readonly model: string;
  readonly input: DraftJson;
  readonly schema: Json | null;
  readonly repairs: number;
  readonly once?: true;
  readonly policy: StepPolicy;
}

const ONLY_TEXT =
  "a chat accepts text and values, and images only in its images field; for other media, use a task or a job";
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
        const outcome = source.isOpen === true ? 'is not declared with yields: "value"' : "makes media";
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
    pricing: { by: "usage", maxCostMicros: policy.maxCostMicros, why: "chats are billed per token" },
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

function checkImage(ref: Reference["$ref"], source: StepFacts, field: string, planning: Planning): void {
  const kind = ref.as === "value" || ref.as === "voice" ? "no image" : ref.kind;
  if (source.isOpen === true || kind === "image" || kind === undefined)
    return checkReadable(ref, source, field, planning);
  const next = kind === "video" ? "; pass a thumbnail, or use inspect to judge the video" : "";
  planning.report("media-kind", field, `${ref.step} makes ${kind}, but the images field accepts only images${next}`);
}
