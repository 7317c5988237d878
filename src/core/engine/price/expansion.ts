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
import type { InputDoor } from "../options/options.ts";
import type { VoiceBook } from "./estimates.ts";
import type { PlaceholderInput, PlaceholderSources, Requested } from "./placeholder-input.ts";
import type { Quote } from "./quote.ts";
import { MODERATED } from "./refusal.ts";
import type { PlanWarning, StepPrice } from "./totals.ts";

export type Expansion =
  | {
      readonly ok: true;
      readonly steps: readonly PlanStep[];
      readonly returns: readonly Reference[];
      readonly groups: Plan["groups"];
      readonly prices: readonly StepPrice[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export interface Surroundings {
  readonly plan: Plan;
  readonly overlay: Overlay;
  readonly filesFrom?: readonly string[] | undefined;
  readonly maxUnquotedMicros: number | null;
}

export interface Expansions {
  expand(step: ExpandingStep, drafted: Draft, within: Surroundings): Promise<Expansion>;
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
  price(plan: Plan, only: readonly PlanStep[]): Promise<Quote>;
}

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
  // `tooDear` describes this problem more precisely.
  const found = quote.problems.filter(({ code, step: path }) => code !== "over-max-cost" || path !== step.path);
  const missing = await missingRequirements(drafted.functions);
  const problems = [...found, ...tooDear(step, quote), ...missing];
  return problems.length === 0 ? { ...produced, prices: quote.prices } : { ok: false, problems };
}

function tooDear({ path, maxCostMicros }: ExpandingStep, { prices }: Quote): readonly Problem[] {
  const most = prices.reduce((sum, { costMicros, maxCostMicros: at }) => sum + (costMicros ?? at ?? 0), 0);
  if (maxCostMicros === null || most <= maxCostMicros) return [];
  const message = `its steps may cost ${formatUsd(most)} USD, more than its maxCost of ${formatUsd(maxCostMicros)} USD`;
  return [{ code: "over-max-cost", step: path, field: null, message }];
}

export async function missingRequirements(functions: ReadonlyMap<string, LocalFunction>): Promise<readonly Problem[]> {
  const asking = new Map<unknown, Promise<string | null>>();
  const lacking = new Map<string, string[]>();
  for (const [step, code] of functions) {
    if ((code.kind !== "task" && code.kind !== "score") || typeof code.requires !== "function") continue;
    const { requires } = code;
    const answer =
      asking.get(requires) ??
      (async () => requires())().catch((error: unknown) => `has requirements that could not be checked: ${error}`);
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

export function unreadTables(models: readonly string[], catalog: Catalog): readonly PlanWarning[] {
  return models.flatMap((id): readonly PlanWarning[] => {
    const model = catalog.model(id);
    const table = model === null ? null : combinationTable(model.inputSchema);
    if (table === null || table.unread.length === 0) return [];
    const what = `has an unreadable line in its published table of field combinations: ${cleanText(table.unread[0]!, 200)}`;
    const effect = table.isWhole ? "" : "; inputs are not checked against the table";
    return [{ code: "unread-table", step: id, message: what + effect }];
  });
}

type Doubtful<Made> =
  | ({ readonly ok: true } & Made)
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly doubted?: Made };

/** Turns problems that come only from a schema's defaults into warnings if the service accepts the input. */
export async function settleDoubts<Made extends object>(
  outcome: Doubtful<Made>,
  stepsOf: (made: Made) => readonly PlanStep[],
  price: (made: Made, steps: readonly PlanStep[]) => Promise<Pick<Quote, "prices" | "problems">>,
): Promise<Doubtful<Made> & { readonly warnings: readonly PlanWarning[] }> {
  if (outcome.ok || outcome.doubted === undefined) return { ...outcome, warnings: [] };
  const { problems, doubted } = outcome;
  // Problems with takes are reported under their common path.
  const isOf = ({ path }: PlanStep, step: string | null) => path === step || path.startsWith(`${step}/`);
  const steps = stepsOf(doubted).filter((planStep) => problems.some(({ step }) => isOf(planStep, step)));
  const accepted = acceptedIn(await price(doubted, steps));
  const refused = problems.filter(({ step }) =>
    steps.some((planStep) => isOf(planStep, step) && !accepted.has(planStep.path)),
  );
  const warnings = problems
    .filter((problem) => !refused.includes(problem))
    .map(({ step, message }): PlanWarning => {
      const settled = `${message}. The service accepts this input, so this is only a warning`;
      return { code: "accepted-anyway", step: step ?? "", message: settled };
    });
  return refused.length === 0 ? { ok: true, ...doubted, warnings } : { ok: false, problems: refused, warnings };
}

function acceptedIn({ prices, problems }: Pick<Quote, "prices" | "problems">): ReadonlySet<string> {
  const refused = new Set(problems.filter(({ code }) => code !== "unquotable").map(({ step }) => step));
  const taken = prices.filter(({ step, costMicros, basis }) => {
    return costMicros !== null || (basis === "unquotable" && !refused.has(step));
  });
  return new Set(taken.map(({ step }) => step));
}

type Out = ReadonlyMap<string, string>;

interface Asked {
  readonly plan: Plan;
  readonly steps: readonly PlanStep[];
}

/** Makes a plan. Leaves out an option if moderation rejects its prompt and the next option may replace it. */
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

/**
 * Returns true if a rerun can proceed despite the problem, because the step belongs to an option that the next option
 * can replace.
 */
export function isLeftToNext(plan: Plan, { code, step }: Problem): boolean {
  if (step === null) return false;
  if (code === MODERATED) return optionOf(plan, step) !== undefined;
  return CANNOT_BE_MADE.has(code) && optionsAround(plan, step).some(hasNext);
}

function optionOf(plan: Plan, path: string) {
  return optionsAround(plan, path).find((option) => hasNext(option) && option.choice.second.afterModeration);
}
