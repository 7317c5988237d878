import type { Catalog } from "../../catalog/index.ts";
import { LongWork } from "../../kit/long-work.ts";
import { formatUsd } from "../../kit/money.ts";
import { type Draft, filesOf, modelsOf, type Overlay, planExpansionStepwise, withOverlay } from "../../plan/index.ts";
import type { ExpandingStep, Plan, PlanStep, Problem, Reference } from "../../plan/plan.ts";
import { measureFiles } from "../media/measure-files.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { InputDoor } from "../options/input-door.ts";
import { withoutModerated } from "./moderated-options.ts";
import type { PlaceholderInput, PlaceholderSources, Requested } from "./placeholder-input.ts";
import type { Quote } from "./quote.ts";
import { missingRequirements } from "./requirements.ts";
import type { StepPrice } from "./step-price.ts";
import { settleDoubts } from "./tables.ts";

/** Steps that a value led to, with their prices; or everything that is wrong with them. */
export type Expansion =
  | {
      readonly ok: true;
      readonly steps: readonly PlanStep[];
      readonly returns: readonly Reference[];
      readonly groups: Plan["groups"];
      readonly prices: readonly StepPrice[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** The run that an expansion belongs to. */
export interface Surroundings {
  readonly plan: Plan;
  /** What is laid over the drafts of the run; it holds for what grows out of them too. */
  readonly overlay: Overlay;
  /** What uploads may read, where the run says. */
  readonly filesFrom?: readonly string[] | undefined;
  readonly maxUnquotedMicros: number | null;
}

export interface Expansions {
  /** Reads the catalog and asks for estimates; spends nothing. */
  expand(step: ExpandingStep, drafted: Draft, within: Surroundings): Promise<Expansion>;
  /** The input of a step of the plan with placeholders for what `resolved` has not. Reads the catalog; spends nothing. */
  placeholders(
    step: Requested,
    within: Pick<Surroundings, "plan"> & Pick<PlaceholderSources, "resolved">,
  ): Promise<PlaceholderInput>;
}

interface Tools {
  readonly media: MediaStore;
  readonly door: InputDoor;
  catalog(models: readonly string[]): Promise<Catalog>;
  /** Prices these steps of the plan. */
  price(plan: Plan, only: readonly PlanStep[]): Promise<Quote>;
}

/** Plans and prices what a value led to; the prices must fit into what the expansion may cost. */
export async function expandPlan(
  step: ExpandingStep,
  drafted: Draft,
  { plan, overlay, media, door, catalog, price }: Tools & Pick<Surroundings, "plan" | "overlay">,
): Promise<Expansion> {
  const requested = withOverlay(drafted, overlay);
  const files = await measureFiles(filesOf(requested), media, door);
  const context = { catalog: await catalog(modelsOf(requested)), files, plan };
  const grown = ({ steps, groups }: Pick<Plan, "steps" | "groups">): Plan => {
    return { ...plan, groups: { ...plan.groups, ...groups }, steps: [...plan.steps, ...steps] };
  };
  const planned = await withoutModerated(
    (out) => new LongWork().finish(planExpansionStepwise(step, requested, { ...context, out })),
    (found) => (found.ok ? { plan: grown(found), steps: found.steps } : null),
    price,
  );
  const produced = await settleDoubts(
    planned,
    ({ steps }) => steps,
    (all, steps) => price(grown(all), steps),
  );
  if (!produced.ok) return produced;
  const quote = await price(grown(produced), produced.steps);
  // Of its own maximum, what it may cost says more than what it costs at least.
  const found = quote.problems.filter(({ code, step: path }) => code !== "over-max-cost" || path !== step.path);
  const missing = await missingRequirements(drafted.functions);
  const problems = [...found, ...tooDear(step, quote), ...missing];
  return problems.length === 0 ? { ...produced, prices: quote.prices } : { ok: false, problems };
}

/** Only what surely costs more is refused beforehand; what may cost more meets its budget when it comes to that. */
function tooDear({ path, maxCostMicros }: ExpandingStep, { prices }: Quote): readonly Problem[] {
  const most = prices.reduce((sum, { costMicros, maxCostMicros: at }) => sum + (costMicros ?? at ?? 0), 0);
  if (maxCostMicros === null || most <= maxCostMicros) return [];
  const message = `its steps may cost ${formatUsd(most)} USD, more than its maxCost of ${formatUsd(maxCostMicros)} USD`;
  return [{ code: "over-max-cost", step: path, field: null, message }];
}
