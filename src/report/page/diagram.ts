import { type PlanStep, planSvg } from "../../index.ts";
import type { ReportFacts } from "../facts.ts";
import { condense, MANY_STEPS, withExpansions } from "../groups.ts";
import { type Html, html, trusted } from "./html.ts";
import { toneOf } from "./status.ts";
import { count, usd } from "./words.ts";

/** Pixels; a picture up to so wide is made smaller to fit, a wider one is scrolled. */
const WIDEST_SHRUNK = 1_450;

/** The plan as a picture, coloured by what became of each step; many like steps are drawn as one. */
export function diagram(facts: ReportFacts): Html {
  if (facts.plan.steps.length === 0) return html`<p class="empty">The plan has no steps.</p>`;
  const isMany = facts.plan.steps.length > MANY_STEPS;
  const whole = withExpansions(facts.plan);
  const { plan, members } = isMany ? condense(whole) : { plan: whole, members: new Map<string, string[]>() };
  const byPath = new Map(facts.steps.map((step) => [step.path, step]));
  const of = ({ path }: PlanStep) => (members.get(path) ?? [path]).flatMap((one) => byPath.get(one) ?? []);
  const svg = planSvg(plan, {
    unstyled: true,
    classOf: (step) => worstTone(of(step).map(({ status }) => status)),
    note: (step) => {
      const cost = of(step).reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
      const what = of(step)[0]?.model ?? (step.kind === "upload" ? `${step.yields} file` : step.kind);
      return cost === 0 ? what : `${usd(cost)} · ${what}`;
    },
  });
  const isWide = Number(/ width="(\d+)"/.exec(svg)?.[1] ?? 0) > WIDEST_SHRUNK;
  const kinds = isMany
    ? html`<p class="hint">${count(facts.plan.steps.length, "step")}; those that are alike are drawn as one.</p>`
    : null;
  return html`${kinds}<div class="scroll diagram${isWide ? "" : " fit"}" role="region" aria-label="Steps and what they use" tabindex="0">${trusted(svg)}</div>`;
}

const order = ["bad", "warn", "live", "idle", "good"];

function worstTone(statuses: readonly string[]): string {
  const tones = statuses.map(toneOf);
  return `is-${order.find((tone) => tones.includes(tone)) ?? "idle"}`;
}
