import { type Refusal, refuse } from "../http/refusal.ts";

/** Prompts with one of these words are refused, so that clients can test the refusal. */
export const MODERATION_TRIGGERS: readonly string[] = ["moderation-refused"];

const FIELDS = ["prompt", "negative_prompt", "text", "name"];

interface Said {
  readonly field: string;
  readonly text: string;
}

function said(input: Readonly<Record<string, unknown>>): Said[] {
  const own = FIELDS.flatMap((name) => {
    const text = input[name];
    return typeof text === "string" ? [{ field: `input.${name}`, text }] : [];
  });
  const shots = Array.isArray(input["multi_prompt"]) ? input["multi_prompt"] : [];
  const spoken = shots.flatMap((shot: unknown, index) => {
    const text = typeof shot === "object" && shot !== null && "prompt" in shot ? shot.prompt : null;
    return typeof text === "string" ? [{ field: `input.multi_prompt[${index}].prompt`, text }] : [];
  });
  return [...own, ...spoken];
}

/** The 422 for a moderated input; null when nothing is refused. */
export function moderate(input: Readonly<Record<string, unknown>>, triggers: readonly string[]): Refusal | null {
  const offending = said(input).find(({ text }) => triggers.some((word) => text.toLowerCase().includes(word)));
  if (!offending) return null;
  return refuse("MODERATION_FAILED", "The input was refused by moderation.", { param: offending.field });
}
