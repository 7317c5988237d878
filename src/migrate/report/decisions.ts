import type { BodyReport, Decision } from "./report.ts";

/** What there is to decide; the same question about several bodies is one decision. */
export function decisionsOf(bodies: readonly BodyReport[]): readonly Decision[] {
  const found = new Map<string, { readonly decision: Decision; readonly where: string[] }>();
  for (const { at, fields, status } of bodies) {
    for (const { field, outcome, value, why, choices } of fields) {
      if (outcome !== "decision") continue;
      const code = status === "open" ? "open-body" : (/[^.[\]]+(?=(?:\[\d+\])*$)/.exec(field)?.[0] ?? field);
      const question = status === "open" ? (why ?? "") : `${shorten(value)}${why ?? ""}`;
      const key = JSON.stringify([code, question, choices]);
      const known = found.get(key);
      const place = status === "open" ? at : `${at}: ${field}`;
      if (known === undefined) found.set(key, { decision: { code, where: [], question, choices }, where: [place] });
      else if (known.where.at(-1) !== place) known.where.push(place);
    }
  }
  return [...found.values()].map(({ decision, where }) => ({ ...decision, where }));
}

function shorten(value: unknown): string {
  if (value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `${text.length > 60 ? `${text.slice(0, 59)}…` : text}: `;
}
