import type { ReportFacts } from "../facts.ts";
import { type Html, html } from "./html.ts";
import { instant, usd } from "./words.ts";

const MOST = 300;

/** What was retried, put back, refused or paused, and why. */
export function incidents({ incidents: all, startedAt }: ReportFacts): Html {
  if (all.length === 0) return html`<p class="empty">Everything went straight: no retry, no pause, no refusal.</p>`;
  const shown = all.slice(0, MOST);
  return html`<ol class="incidents">${shown.map(
    ({ at, step, what, why, costMicros }) =>
      html`<li><time title="${instant(at)}">+${elapsed(at - startedAt)}</time><div><strong>${step === null ? "run" : step}</strong> ${what}${costMicros === null ? "" : costMicros === 0 ? " (refunded)" : ` (cost ${usd(costMicros)})`}${why === "" ? null : html`<br><span class="why">${why.slice(0, 2000)}</span>`}</div></li>`,
  )}</ol>${all.length > MOST ? html`<p class="hint">… and ${all.length - MOST} more, in <code>showrunner events</code>.</p>` : null}`;
}

function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (n: number) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
