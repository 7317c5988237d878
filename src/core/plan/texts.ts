import { mapRecord } from "./plain-json.ts";
import type { DraftJson, DraftStep, PlanStep } from "./plan.ts";

/** Text to replace in all inputs of a run. */
export interface TextChange {
  readonly before: string;
  readonly after: string;
}

/** A field of another step that still contains the text that an edit replaced. */
export interface SameText {
  readonly step: string;
  /** Dotted path with list indexes in brackets, such as `input.lines[0].text`. */
  readonly field: string;
  readonly text: string;
  /** True if a local function uses the text, for example as a caption. False if a request to a model contains it. */
  readonly isLocal: boolean;
}

export function withTexts(value: DraftJson, texts: readonly TextChange[]): DraftJson {
  if (typeof value === "string") return texts.reduce((text, change) => replaced(text, change), value);
  if (typeof value !== "object" || value === null || "$ref" in value) return value;
  if (Array.isArray(value)) return value.map((item: DraftJson) => withTexts(item, texts));
  return mapRecord(value as { readonly [key: string]: DraftJson }, (item) => withTexts(item, texts));
}

function replaced(text: string, { before, after }: TextChange): string {
  if (text === before) return after;
  return isPhrase(before) ? text.replaceAll(before, () => after) : text;
}

function isPhrase(text: string): boolean {
  return /\S\s+\S/.test(text) || [...text].length >= 12;
}

export function placesOf(steps: readonly PlanStep[], texts: readonly TextChange[]): readonly SameText[] {
  if (texts.length === 0) return [];
  const found: SameText[] = [];
  for (const step of steps) {
    if (!("input" in step)) continue;
    visit(step.input, "input", (field, text) => {
      const change = texts.find(({ before, after }) => {
        // The old text may occur inside the new text. Such occurrences do not count.
        const rest = after === "" ? text : text.replaceAll(after, "\n");
        return text === before || (isPhrase(before) && rest.includes(before));
      });
      if (change !== undefined)
        found.push({ step: step.path, field, text: change.before, isLocal: !("model" in step) });
    });
  }
  return found;
}

export interface RepeatedText extends Omit<SameText, "isLocal"> {
  readonly of: { readonly step: string; readonly field: string };
}

/** For each local function, finds the first text in its input that also appears in a job's input. */
export function repeatedTexts(steps: readonly DraftStep[]): readonly RepeatedText[] {
  const asked = new Map<string, RepeatedText["of"]>();
  for (const step of steps) {
    if (step.kind !== "job" || typeof step.input !== "object" || step.input === null) continue;
    for (const [field, value] of Object.entries(step.input)) {
      if (typeof value === "string" && isProse(value) && !asked.has(value))
        asked.set(value, { step: step.path, field });
    }
  }
  return steps.flatMap((step): readonly RepeatedText[] => {
    if (asked.size === 0 || step.kind !== "task") return [];
    const found: RepeatedText[] = [];
    visit(step.input, "input", (field, text) => {
      const known = asked.get(text);
      if (known !== undefined) found.push({ step: step.path, field, text, of: known });
    });
    return found.slice(0, 1);
  });
}

function isProse(text: string): boolean {
  return /\S\s+\S/.test(text) || (isPhrase(text) && /\P{ASCII}/u.test(text));
}

function visit(value: DraftJson, field: string, note: (field: string, text: string) => void): void {
  if (typeof value === "string") return note(field, value);
  if (typeof value !== "object" || value === null || "$ref" in value || "$input" in value) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) visit(item as DraftJson, `${field}[${index}]`, note);
    return;
  }
  for (const [name, item] of Object.entries(value))
    visit(item as DraftJson, name === "$text" ? field : `${field}.${name}`, note);
}

export function withInputs<S extends DraftStep>(step: S, inputOf: (path: string) => DraftJson | undefined): S {
  return "input" in step ? { ...step, input: resolved(step.input, inputOf) } : step;
}

function resolved(value: DraftJson, inputOf: (path: string) => DraftJson | undefined): DraftJson {
  if (typeof value !== "object" || value === null || "$ref" in value) return value;
  if (Array.isArray(value)) return value.map((item: DraftJson) => resolved(item, inputOf));
  if ("$input" in value) {
    const { step, field } = value.$input as unknown as { readonly step: string; readonly field: string };
    const input = inputOf(step);
    const own = typeof input === "object" && input !== null && Object.hasOwn(input, field);
    return own ? (input as { readonly [name: string]: DraftJson })[field]! : null;
  }
  return mapRecord(value as { readonly [key: string]: DraftJson }, (item) => resolved(item, inputOf));
}
