import { fingerprint, referencesOf } from "../plain-json.ts";
import type { DraftJson, DraftStepBase, FileKind, Json, StepBase, StepPolicy } from "../step.ts";
import {
  bindFreeInput,
  bindWhen,
  checkReadable,
  MEDIA,
  needsOf,
  type StepKind,
  type StepTraits,
  VALUE,
} from "./kind.ts";

/** A step that calls a local function. After a crash, the function may be called again. */
export interface TaskStep extends StepBase {
  readonly kind: "task";
  /** The function's argument, which may contain {@link Reference}s. Media arrive as local files. */
  readonly input: Json;
  /** Version of the function, included in the step's fingerprint. The author changes it when the function changes. */
  readonly version: string;
  /** Files that the function writes, in output order. If empty, the function only returns a value. */
  readonly files: readonly { readonly name: string; readonly kind: FileKind }[];
  readonly yields: FileKind | "value";
  readonly policy: StepPolicy;
}

export interface TaskDraft extends DraftStepBase {
  readonly kind: "task";
  readonly input: DraftJson;
  readonly version: string;
  readonly files: readonly { readonly name: string; readonly kind: FileKind }[];
  readonly policy: StepPolicy;
}

/** The traits that all tasks share. A single object saves memory, because a run keeps the traits of every step. */
const shared = {
  brackets: ["(", ")"],
  pricing: { by: "nothing" },
  standsFor: [],
  reuse: (pipeline, step) => {
    const { path, version, files } = step as TaskStep;
    return { kind: "task", function: `${pipeline}/${path}`, version, files };
  },
} as const satisfies Partial<StepTraits>;

export const taskKind: StepKind<TaskDraft, TaskStep> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, version, files, policy } = draft;
    const input = bindFreeInput(draft.input, "input", planning, {
      assets: "an asset on the service is not a file on this machine; download it and pass upload(…)",
      reference: (ref, source, field) => checkReadable(ref, source, field, planning),
    });
    const step: TaskStep = {
      kind: "task",
      path,
      needs: needsOf(draft, draft.input),
      fingerprint: fingerprint({ kind: "task", input, version, files }),
      ...bindWhen(draft.when, planning),
      input,
      version,
      files,
      yields: files[0]?.kind ?? "value",
      policy,
    };
    return { step };
  },
  facts({ files, yields }) {
    const kinds = files.map(({ kind }) => kind);
    return kinds.length === 0 ? VALUE : { ...MEDIA, yields, outputs: kinds.length, kinds, hasValue: true };
  },
  traits: ({ input, version, files }) => ({
    noun: "local task",
    note: files.length === 0 ? "task" : `task: ${files.map(({ name }) => name).join(", ")}`,
    subject: null,
    // The fields are listed, because a literal with a spread takes several times as long.
    brackets: shared.brackets,
    pricing: shared.pricing,
    standsFor: shared.standsFor,
    reuse: shared.reuse,
    icon: "value",
    uses: referencesOf(input),
    requested: { input, version, files },
    typicalMs: 2_000,
    modality: "task",
    needsCode: true,
    readsFiles: true,
    decision: null,
    submits: null,
    provider: null,
    file: null,
    isChoice: false,
    expansion: null,
    keeps: true,
  }),
};
