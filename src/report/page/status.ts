import { type Html, html } from "./html.ts";

const looks: Readonly<Record<string, readonly [mark: string, tone: string]>> = {
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
  return looks[status]?.[1] ?? "idle";
}

/** A status as a mark, a word and a colour, so that none of them is needed alone. */
export function badge(status: string): Html {
  const [mark] = looks[status] ?? ["·"];
  return html`<span class="badge ${toneOf(status)}"><span aria-hidden="true">${mark}</span> ${status}</span>`;
}
