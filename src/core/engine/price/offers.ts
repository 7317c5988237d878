import { randomBytes } from "node:crypto";
import type { AgreedQuote } from "../../journal/events.ts";
import type { IssuedQuote, QuoteStore } from "../../journal/store.ts";
import { DAY_MS } from "../../kit/duration.ts";
import { own } from "../../kit/lookup.ts";
import { formatUsd, openSteps } from "../../kit/money.ts";
import { canonicalJson, fingerprint, traitsOf } from "../../plan/index.ts";
import { type Json, type Plan, type PlanStep, stepNamed } from "../../plan/plan.ts";
import { type Offer, type QuoteRefusal, QuoteRefusedError } from "../errors.ts";
import { type StepPrice, total } from "./totals.ts";

/** How long a quote is valid. The prices are checked again when a run starts. */
const VALID_MS = DAY_MS;
const MOST_STEPS = 1_000;
const MOST_CHANGES = 8;

export interface Offered {
  readonly runId: string | null;
  readonly plan: Plan;
  readonly steps: readonly PlanStep[];
  /** Hash of the run's plan and rerun requests; null for a new run. */
  readonly state: string | null;
  readonly input: Json;
  readonly prices: readonly StepPrice[];
  readonly maxUnquotedMicros: number | null;
}

export function newRun(
  { plan, parsedInput: input }: { readonly plan: Plan; readonly parsedInput: Json },
  { prices }: Pick<Offered, "prices">,
  maxUnquotedMicros: number | null,
): Offered {
  return { runId: null, plan, steps: plan.steps, state: null, input, prices, maxUnquotedMicros };
}

type Basis = {
  readonly runId: string | null;
  readonly plan: string;
  readonly input: { readonly [field: string]: string };
  readonly steps: readonly (readonly [path: string, hash: string, mostMicros: number | null])[];
  readonly maximumMicros: number;
  readonly open: readonly string[];
};

interface OffersParts {
  readonly store: QuoteStore & { readonly isReadOnly?: boolean };
  readonly account: string;
  readonly now: () => number;
}

export const NO_OFFER: Offer = { id: null, maximumUsd: null, expiresAt: null };

export class Offers {
  readonly #parts: OffersParts;

  constructor(parts: OffersParts) {
    this.#parts = parts;
  }

  async issue(offered: Offered): Promise<Offer> {
    const { store, account, now } = this.#parts;
    const basis = basisOf(offered);
    if (store.isReadOnly === true) return { ...NO_OFFER, maximumUsd: formatUsd(basis.maximumMicros) };
    const at = now();
    const id = `quote_${randomBytes(12).toString("hex")}`;
    const expiresAt = at + VALID_MS;
    await store.issueQuote({ id, account, basis, expiresAt }, at);
    return { id, maximumUsd: formatUsd(basis.maximumMicros), expiresAt };
  }

  async agreed(id: string, offered: Offered): Promise<AgreedQuote> {
    const issued = await this.#issued(id);
    const refusal = this.#refusal(issued, offered);
    if (refusal !== null) throw await this.#refused(id, refusal, offered);
    const { maximumMicros, open } = issued!.basis as Basis;
    return { quote: id, maximumMicros, open };
  }

  /**
   * Marks the quote as used, so that no other run can start with it.
   * @throws QuoteRefusedError if another run has used it
   */
  async use(id: string, runId: string, offered: Offered): Promise<void> {
    if (await this.#parts.store.useQuote(id, runId, this.#parts.now())) return;
    const refusal = this.#refusal(await this.#issued(id), offered) ?? { why: "expired", changes: [] };
    throw await this.#refused(id, refusal, offered);
  }

  async #issued(id: string): Promise<IssuedQuote | null> {
    const issued = await this.#parts.store.issuedQuote(id);
    return issued?.account === this.#parts.account ? issued : null;
  }

  #refusal(issued: IssuedQuote | null, offered: Offered): QuoteRefusal | null {
    if (issued === null)
      return {
        why: "unknown",
        changes: ["the quote was not issued for this journal and account, or expired long ago"],
      };
    const { usedBy, expiresAt } = issued;
    const was = issued.basis as Basis;
    const is = basisOf(offered);
    const isPlan = was.runId === is.runId && was.plan === is.plan && isSame(was.input, is.input);
    // The run that used the quote may use it again for the same steps.
    if (usedBy !== null && (usedBy !== offered.runId || !isPlan)) {
      return { why: "used", changes: [`the quote was already used to start run ${usedBy}`] };
    }
    if (usedBy === null && expiresAt <= this.#parts.now())
      return { why: "expired", changes: [`the quote was valid until ${new Date(expiresAt).toISOString()}`] };
    if (!isPlan) return { why: "plan", changes: planChanges(was, is) };
    const opened = is.open.filter((path) => !was.open.includes(path));
    if (is.maximumMicros <= was.maximumMicros && opened.length === 0) return null;
    return { why: "price", changes: priceChanges(was, is, opened) };
  }

  async #refused(id: string, { why, changes }: QuoteRefusal, offered: Offered): Promise<QuoteRefusedError> {
    const more = changes.length - MOST_CHANGES;
    const listed = more > 0 ? [...changes.slice(0, MOST_CHANGES), `… and ${more} more`] : changes;
    return new QuoteRefusedError(id, { why, changes: listed }, await this.issue(offered));
  }
}

function basisOf({ runId, plan, steps, state, input, prices, maxUnquotedMicros }: Offered): Basis {
  const most = new Map(prices.map(({ step, mostMicros }) => [step, mostMicros]));
  const bounded = prices.map((price) => withinUnquoted(price, plan, maxUnquotedMicros));
  const open = openSteps(bounded);
  // Nobody agreed to the cost of open-ended steps, so leave them out of the maximum.
  const known = bounded.map((price) =>
    price.mostMicros === null ? { ...price, costMicros: 0, mostMicros: 0 } : price,
  );
  const { max } = total({ ...plan, steps }, known).totalMicros;
  const fields = typeof input === "object" && input !== null && !Array.isArray(input) ? input : { input };
  // Hash the steps separately and then their hashes, because this is faster for a large plan.
  const hashes = steps.map((step) => fingerprint(step as unknown as Json));
  const whole = { ...(runId === null ? plan : {}), steps: hashes };
  const kept = steps.slice(0, MOST_STEPS);
  return {
    runId,
    plan: fingerprint({ plan: whole, state } as unknown as Json),
    input: Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, short(fingerprint(value))])),
    steps: kept.map(({ path }, index) => [path, short(hashes[index]!), most.get(path) ?? null]),
    maximumMicros: max ?? 0,
    open,
  };
}

/** Uses the run's `maxUnquoted` as the maximum price of a job that has none of its own. */
function withinUnquoted(price: StepPrice, plan: Plan, maxUnquotedMicros: number | null): StepPrice {
  if (price.mostMicros !== null || maxUnquotedMicros === null) return price;
  const step = stepNamed(plan, price.step);
  const isJob = step !== undefined && traitsOf(step).pricing.by === "quote";
  return isJob ? { ...price, mostMicros: maxUnquotedMicros } : price;
}

function planChanges(was: Basis, is: Basis): readonly string[] {
  if (was.runId !== is.runId)
    return [was.runId === null ? "the quote can only be used to start a new run" : `the quote is for run ${was.runId}`];
  const fields = [...new Set([...Object.keys(was.input), ...Object.keys(is.input)])];
  const inputs = fields.filter((name) => own(was.input, name) !== own(is.input, name));
  const before = new Map(was.steps.map(([path, digest]) => [path, digest]));
  const after = new Map(is.steps.map(([path, digest]) => [path, digest]));
  const changes = [
    ...inputs.map((name) => `input.${name} changed`),
    ...is.steps.flatMap(([path, digest]) => {
      if (!before.has(path)) return [`${path} is new`];
      return before.get(path) === digest ? [] : [`${path} changed`];
    }),
    ...was.steps.flatMap(([path]) => (after.has(path) ? [] : [`${path} was removed`])),
  ];
  const rest = was.runId === null ? "the outputs or limits changed" : `run ${was.runId} has changed since`;
  return changes.length > 0 ? changes : [rest];
}

function priceChanges(was: Basis, is: Basis, opened: readonly string[]): readonly string[] {
  const before = new Map(was.steps.map(([path, , most]) => [path, most]));
  const raised = is.steps.flatMap(([path, , most]) => {
    const earlier = before.get(path) ?? null;
    return earlier === null || most === null || most <= earlier
      ? []
      : [`${path} now costs at most ${formatUsd(most)} USD instead of ${formatUsd(earlier)} USD`];
  });
  const whole = `the total is now at most ${formatUsd(is.maximumMicros)} USD; you agreed to at most ${formatUsd(was.maximumMicros)} USD`;
  return [
    ...(is.maximumMicros > was.maximumMicros ? [whole, ...raised] : []),
    ...opened.map((path) => `${path} no longer has a maximum price`),
  ];
}

function isSame(input: Basis["input"], otherInput: Basis["input"]): boolean {
  return canonicalJson(input) === canonicalJson(otherInput);
}

function short(print: string): string {
  return print.slice(3, 15);
}
