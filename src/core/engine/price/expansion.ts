import { type Catalog, combinationTable } from "../../catalog/index.ts";
import type { LocalFunction } from "../../define/index.ts";
import { cleanText, ownText } from "../../kit/clean-text.ts";
import { LongWork } from "../../kit/long-work.ts";
import { formatUsd } from "../../kit/money.ts";
import {
  CANNOT_BE_MADE,
  type Draft,
  filesOf,
  hasNext,
  modelsOf,
  type Overlay,
  optionsAround,
  planExpansionStepwise,
  withOverlay,
} from "../../plan/index.ts";
import type { ExpandingStep, Plan, PlanStep, Problem, Reference } from "../../plan/plan.ts";
import { measureFiles } from "../media/measure-files.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { InputDoor } from "../options/input-door.ts";
import type { PlaceholderInput, PlaceholderSources, Requested } from "./placeholder-input.ts";
import type { Quote } from "./quote.ts";
import { MODERATED } from "./refusal.ts";
import type { PlanWarning, StepPrice } from "./totals.ts";
import type { VoiceBook } from "./voices.ts";

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
  readonly voices: Pick<VoiceBook, "namedIn">;
  catalog(models: readonly string[]): Promise<Catalog>;
  /** Prices these steps of the plan. */
  price(plan: Plan, only: readonly PlanStep[]): Promise<Quote>;
}

/** Plans and prices what a value led to; the prices must fit into what the expansion may cost. */
export async function expandPlan(
  step: ExpandingStep,
  drafted: Draft,
  { plan, overlay, media, door, voices, catalog, price }: Tools & Pick<Surroundings, "plan" | "overlay">,
): Promise<Expansion> {
  const requested = withOverlay(drafted, overlay);
  const files = await measureFiles(filesOf(requested), media, door);
  const models = await catalog(modelsOf(requested));
  const context = { catalog: models, files, voices: await voices.namedIn(requested), plan };
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

/**
 * What this machine lacks for the functions of a plan, which would else be found once what they use has been paid. Each
 * requirement is asked once; steps that lack the same are one problem, of the first of them.
 */
export async function missingRequirements(functions: ReadonlyMap<string, LocalFunction>): Promise<readonly Problem[]> {
  const asking = new Map<unknown, Promise<string | null>>();
  const lacking = new Map<string, string[]>();
  for (const [step, code] of functions) {
    if ((code.kind !== "task" && code.kind !== "score") || typeof code.requires !== "function") continue;
    const { requires } = code;
    const answer =
      asking.get(requires) ?? (async () => requires())().catch((error: unknown) => `it cannot be asked: ${error}`);
    asking.set(requires, answer);
    const message = await answer;
    if (message !== null) lacking.set(message, [...(lacking.get(message) ?? []), step]);
  }
  return [...lacking].map(([message, [first, ...others]]) => {
    const more =
      others.length === 0 ? "" : ` (so does ${others.slice(0, 5).join(", ")}${others.length > 5 ? ", …" : ""})`;
    return { code: "missing-requirement", step: first!, field: "requires", message: `${ownText(message)}${more}` };
  });
}

/** Tables of combinations that are read in part, of the models with these ids. */
export function unreadTables(models: readonly string[], catalog: Catalog): readonly PlanWarning[] {
  return models.flatMap((id): readonly PlanWarning[] => {
    const model = catalog.model(id);
    const table = model === null ? null : combinationTable(model.inputSchema);
    if (table === null || table.unread.length === 0) return [];
    const what = `publishes a table of combinations with a line that cannot be read: ${cleanText(table.unread[0]!, 200)}`;
    const effect = table.isWhole ? "" : "; nothing is refused because of the table";
    return [{ code: "unread-table", step: id, message: what + effect }];
  });
}

/** What was planned, or why not; `doubted` where only defaults stand against it. */
type Doubtful<Made> =
  | ({ readonly ok: true } & Made)
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly doubted?: Made };

/**
 * Whether a default counts as given is the service's to say: what its estimate takes is no problem any more, and reported as
 * a warning. `price`: asks it about these steps.
 */
export async function settleDoubts<Made extends object>(
  outcome: Doubtful<Made>,
  stepsOf: (made: Made) => readonly PlanStep[],
  price: (made: Made, steps: readonly PlanStep[]) => Promise<Pick<Quote, "prices" | "problems">>,
): Promise<Doubtful<Made> & { readonly warnings: readonly PlanWarning[] }> {
  if (outcome.ok || outcome.doubted === undefined) return { ...outcome, warnings: [] };
  const { problems, doubted } = outcome;
  // Takes are reported under the path of all of them.
  const isOf = ({ path }: PlanStep, step: string | null) => path === step || path.startsWith(`${step}/`);
  const steps = stepsOf(doubted).filter((planStep) => problems.some(({ step }) => isOf(planStep, step)));
  const accepted = acceptedIn(await price(doubted, steps));
  const refused = problems.filter(({ step }) =>
    steps.some((planStep) => isOf(planStep, step) && !accepted.has(planStep.path)),
  );
  const warnings = problems
    .filter((problem) => !refused.includes(problem))
    .map(({ step, message }): PlanWarning => {
      const settled = `${message}. The service takes it, and has the last word`;
      return { code: "accepted-anyway", step: step ?? "", message: settled };
    });
  return refused.length === 0 ? { ok: true, ...doubted, warnings } : { ok: false, problems: refused, warnings };
}

/** The steps whose input the service takes, whether or not it can say a price. */
function acceptedIn({ prices, problems }: Pick<Quote, "prices" | "problems">): ReadonlySet<string> {
  const refused = new Set(problems.filter(({ code }) => code !== "unquotable").map(({ step }) => step));
  const taken = prices.filter(({ step, costMicros, basis }) => {
    return costMicros !== null || (basis === "unquotable" && !refused.has(step));
  });
  return new Set(taken.map(({ step }) => step));
}

/** Options that are out before anything is made, and why. */
type Out = ReadonlyMap<string, string>;

interface Asked {
  readonly plan: Plan;
  /** Those that are planned just now. */
  readonly steps: readonly PlanStep[];
}

/**
 * Plans without the options whose prompts moderation refuses in the estimate already, where their choice continues after
 * that. `asked`: what a plan that was made is asked prices for; null where none was.
 */
export async function withoutModerated<Made>(
  make: (out: Out) => Promise<Made>,
  asked: (made: Made) => Asked | null,
  price: (plan: Plan, steps: readonly PlanStep[]) => Promise<Pick<Quote, "problems">>,
): Promise<Made> {
  for (const out = new Map<string, string>(); ; ) {
    const result = await make(out);
    const found = asked(result);
    if (found === null) return result;
    const { plan, steps } = found;
    const doubtful = steps.filter(({ path }) => optionOf(plan, path) !== undefined);
    if (doubtful.length === 0) return result;
    const refused = (await price(plan, doubtful)).problems.filter(({ code }) => code === MODERATED);
    if (refused.length === 0) return result;
    for (const { step, message } of refused as readonly (Problem & { readonly step: string })[]) {
      const option = optionOf(plan, step)!.path;
      if (!out.has(option)) out.set(option, `${step} ${message}`);
    }
  }
}

/** Whether what is wrong with a step that is made again is wrong with its option alone, which makes way for another one. */
export function isLeftToNext(plan: Plan, { code, step }: Problem): boolean {
  if (step === null) return false;
  if (code === MODERATED) return optionOf(plan, step) !== undefined;
  return CANNOT_BE_MADE.has(code) && optionsAround(plan, step).some(hasNext);
}

/** The innermost option around a step that another one follows after moderation. */
function optionOf(plan: Plan, path: string) {
  return optionsAround(plan, path).find((option) => hasNext(option) && option.choice.second.afterModeration);
}
