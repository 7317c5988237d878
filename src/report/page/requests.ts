import type { Json, PlanStep } from "../../index.ts";
import { usd } from "./format.ts";
import { type Html, html } from "./html.ts";

/** Longer texts are cut; the journal has them whole. */
const LONGEST_TEXT = 4_000;
/** Beside each other, texts of a page may be this long in all. */
const ALL_TEXT = 600_000;
const DEEPEST = 4;

/** Shows values of a step's input: texts as they were written, references as links to the step that they name. */
export class StepRequests {
  readonly #anchors: ReadonlyMap<string, string>;
  #room = ALL_TEXT;

  /** `anchors`: step paths to the ids of their sections in the page. */
  constructor(anchors: ReadonlyMap<string, string>) {
    this.#anchors = anchors;
  }

  /** What a step asks for, field by field. */
  step(step: PlanStep): Html {
    return this.#fields(fieldsOf(step), 0);
  }

  value(value: Json, depth = 0): Html {
    if (typeof value === "string") return this.#text(value);
    if (value === null || typeof value !== "object") return html`<code>${JSON.stringify(value)}</code>`;
    const reference = referenceIn(value);
    if (reference !== null) return this.#reference(reference);
    if (depth >= DEEPEST) return this.#text(JSON.stringify(value));
    if (Array.isArray(value)) {
      const shown = value.slice(0, 50);
      const rest = value.length - shown.length;
      return html`<ul class="list">${shown.map((one) => html`<li>${this.value(one, depth + 1)}</li>`)}${rest > 0 ? html`<li>… and ${rest} more</li>` : null}</ul>`;
    }
    return this.#fields(Object.entries(value), depth + 1);
  }

  #fields(fields: readonly (readonly [string, Json])[], depth: number): Html {
    if (fields.length === 0) return html`<span class="hint">nothing</span>`;
    const shown = fields.slice(0, 100);
    return html`<dl class="request">${shown.map(([name, value]) => html`<div><dt>${name.slice(0, 200)}</dt><dd>${this.value(value, depth)}</dd></div>`)}</dl>`;
  }

  #text(text: string): Html {
    const most = Math.min(LONGEST_TEXT, Math.max(80, this.#room));
    const shown = text.length > most ? text.slice(0, most) : text;
    this.#room -= shown.length;
    const rest = text.length - shown.length;
    const cut =
      rest > 0 ? html`<span class="hint"> … ${rest.toLocaleString("en")} more characters, in the journal</span>` : null;
    return html`<span class="text">${shown}</span>${cut}`;
  }

  #reference({ step, output }: { readonly step: string; readonly output: unknown }): Html {
    const which = output === "all" ? "all outputs of " : output === "chosen" ? "the chosen take of " : "";
    const later = typeof output === "number" && output > 0 ? `, output ${output}` : "";
    const anchor = this.#anchors.get(step);
    const name = anchor === undefined ? html`<strong>${step}</strong>` : html`<a href="#${anchor}">${step}</a>`;
    return html`<span class="ref">← ${which}${name}${later}</span>`;
  }
}

const notAsked = new Set(["path", "kind", "needs", "fingerprint", "yields", "policy", "when", "outputs", "model"]);

function fieldsOf(step: PlanStep): readonly (readonly [string, Json])[] {
  const own = step as unknown as { readonly [name: string]: Json };
  return Object.entries(own).flatMap(([name, value]) => {
    if (notAsked.has(name)) return [];
    if (name === "schema" && value !== null) return [[name, JSON.stringify(value)] as const];
    if (name.endsWith("Micros") && typeof value === "number") return [[name.slice(0, -6), usd(value)] as const];
    const isInput = name === "input" && typeof value === "object" && value !== null && !Array.isArray(value);
    return isInput && referenceIn(value) === null ? Object.entries(value) : [[name, value] as const];
  });
}

function referenceIn(value: Json): { readonly step: string; readonly output: unknown } | null {
  if (typeof value !== "object" || value === null || !("$ref" in value)) return null;
  const ref = (value as { readonly $ref: Json }).$ref;
  if (typeof ref !== "object" || ref === null || !("step" in ref) || typeof ref.step !== "string") return null;
  return { step: ref.step, output: "output" in ref ? ref.output : 0 };
}
