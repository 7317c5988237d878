import type { DraftJson, StepPolicy } from "../../plan/plan.ts";
import type { Handle, Yields } from "../handle.ts";
import { chosenHandle } from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import { choiceFailure } from "./choose.ts";
import { OptionReader } from "./options.ts";

/** How a chat model rewrites a prompt that moderation refused. */
export interface Rewriting {
  /** The id of one of the service's chat models. */
  readonly model: string;
  /** The instruction to the chat model. By default, it asks for a milder prompt in the same language. */
  readonly instruction?: string | undefined;
  /** Maximum cost of the rewriting request, in US dollars as a decimal string. Default `"0.01"`. */
  readonly maxCost?: string | undefined;
}

export interface ModeratedOptions<R extends "fail" | "rewrite" | undefined> {
  /**
   * What happens if moderation refuses the prompt. Default `"fail"`. With `"rewrite"`, a chat model tones the prompt
   * down, and the step is tried once more. The returned handle then refers to `<name>/pick`, which chooses between
   * `<name>/1/first` and `<name>/2/again`.
   */
  readonly onModerated?: R;
  /** The chat model that rewrites a prompt after moderation refuses it. Required with `onModerated: "rewrite"`. */
  readonly rewrite?: Rewriting | undefined;
}

export const MODERATED_OPTIONS: readonly string[] = ["onModerated", "rewrite"];

const INSTRUCTION =
  "A media model's moderation rejected the prompt below. Rewrite it so that it keeps its subject, style and language but contains nothing that moderation might object to. Answer with the prompt alone.";
const MAX_COST = "0.01";
const WORDS = ["prompt", "text"];

export function isRewriting(read: OptionReader): boolean {
  const choice = read.get("onModerated") ?? "fail";
  if (choice !== "fail" && choice !== "rewrite") read.bad("onModerated", 'onModerated must be "fail" or "rewrite"');
  if (choice !== "rewrite" && read.get("rewrite") !== undefined) {
    read.bad("rewrite", 'rewrite has no effect without onModerated: "rewrite"');
  }
  return choice === "rewrite";
}

interface Rewritten {
  readonly input: DraftJson;
  readonly policy: StepPolicy;
  readonly yields: Yields;
  add(part: Recorder, step: { readonly path: string; readonly input: DraftJson; readonly policy: StepPolicy }): void;
}

/** Adds the step twice: as written, and with a milder prompt that is used if moderation refuses the original. */
export function addRewriting(recorder: Recorder, name: string, step: Rewritten, read: OptionReader): Handle {
  const { input, policy, yields } = step;
  const part = recorder.part(name);
  const first = part.part(1, { isClosed: true });
  const firstPath = first.path("first");
  // A first refusal must not stop the run, because the next option tries a milder prompt.
  step.add(first, { path: firstPath, input, policy: { ...policy, onFailure: "continue" } });
  const second = part.part(2, { after: part.under(part.prefix), isClosed: true });
  const prompt = second.path("prompt");
  const again = second.path("again");
  const words = WORDS.find((field) => typeof input === "object" && input !== null && field in input);
  if (words === undefined)
    read.bad("onModerated", `there is nothing to rewrite: the input has neither ${WORDS.join(" nor ")}`);
  const { [words ?? ""]: promptText = "", ...others } = input as { readonly [field: string]: DraftJson };
  second.add(rewriter(prompt, promptText, read, recorder));
  const milder = {
    ...others,
    ...(words !== undefined && { [words]: { $ref: { step: prompt, output: "value" } } as const }),
  };
  step.add(second, { path: again, input: milder, policy });
  const pick = part.path("pick");
  part.add({
    kind: "pick",
    path: pick,
    after: [],
    when: null,
    among: [firstPath, again].map((path) => ({ $ref: { step: path, output: "single" } })),
    by: "first",
    version: null,
    ...choiceFailure(policy.onFailure),
    second: {
      options: [part.path(1), part.path(2)],
      afterModeration: true,
      awayMs: null,
      rewrites: true,
      out: [],
    },
  });
  return chosenHandle(pick, yields, recorder.build);
}

function rewriter(path: string, promptText: DraftJson, read: OptionReader, recorder: Recorder) {
  const given = read.get("rewrite");
  const isObject = typeof given === "object" && given !== null;
  const options = new OptionReader(isObject ? { maxCost: MAX_COST, ...given } : { maxCost: MAX_COST }, path, recorder);
  options.only("rewrite", ["model", "instruction", "maxCost"], []);
  const model = options.string("model");
  if (model === null) read.bad("rewrite", 'name the chat model that rewrites the prompt: rewrite: { model: "…" }');
  const content = options.string("instruction") ?? INSTRUCTION;
  const messages = [
    { role: "system", content },
    { role: "user", content: promptText },
  ];
  const policy = { attempts: 1, maxCostMicros: options.usd("maxCost"), keep: true, onFailure: "continue" } as const;
  return {
    kind: "chat",
    path,
    model: model ?? "none",
    input: { messages },
    schema: null,
    repairs: 0,
    once: true,
    policy,
    after: [],
    when: null,
  } as const;
}
