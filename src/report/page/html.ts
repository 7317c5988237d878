const polls: Readonly<Record<string, readonly [mark: string, tone: string]>> = {
  succeeded: ["✓", "good"],
  partial: ["◑", "warn"],
  failed: ["✗", "bad"],
  cancelled: ["–", "warn"],
  paused: ["‖", "warn"],
  interrupted: ["!", "warn"],
  "awaiting-approval": ["?", "warn"],
  unresolved: ["?", "bad"],
  running: ["▸", "live"],
  planned: ["·", "idle"],
  waiting: ["·", "idle"],
  skipped: ["–", "idle"],
};

export function toneOf(status: string): string {
  return polls[status]?.[1] ?? "idle";
}

/** A status as a mark, a word and a colour, so that none of them is needed alone. */
export function badge(status: string): Html {
  const [mark] = polls[status] ?? ["·"];
  return html`<span class="badge ${toneOf(status)}"><span aria-hidden="true">${mark}</span> ${status}</span>`;
}

/** Markup that is safe to stand in a page as it is; anything else is escaped where it is put in. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Html | string | number | null | false | readonly Piece[];

/** A template whose values are escaped, unless they are markup already. Null and false leave nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  const parts = strings.map((text, at) => (at === 0 ? text : rendered(values[at - 1] ?? null) + text));
  return new Html(parts.join(""));
}

/** Markup of our own making, or of the library's, that is known to be safe. */
export function trusted(markup: string): Html {
  return new Html(markup);
}

function rendered(value: Piece): string {
  if (value === null || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(rendered).join("");
  return escapeText(String(value));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Markup escaped; control characters and marks that reorder text shown as codes; line breaks and tabs kept. */
export function escapeText(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => entities[character] ?? "")
    .replace(/(?![\n\t])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\u200E\u200F]|\p{Cs}/gu, code);
}

function code(character: string): string {
  return `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`;
}
