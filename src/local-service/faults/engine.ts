import type { FaultKind, ParsedRule } from "./rules.ts";

/** A number from 0 to below 1, determined by its two seeds. */
export function chance(seed: number, draw: number): number {
  let mixed = Math.imul(seed ^ (draw + 0x9e3779b9), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x27d4eb2f);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 4_294_967_296;
}

/** What a rule is matched against. */
export interface FaultSubject {
  readonly route: string | null;
  readonly model: string | null;
  readonly prompt: string | null;
}

type RuleOf<Kind extends FaultKind> = Extract<ParsedRule, { readonly kind: Kind }>;

interface LiveRule {
  readonly rule: ParsedRule;
  readonly prompt: RegExp | null;
  readonly index: number;
  matched: number;
  struck: number;
}

function matches({ rule, prompt }: LiveRule, subject: FaultSubject): boolean {
  if (rule.route !== undefined && subject.route !== null && rule.route !== subject.route) return false;
  if (rule.model !== undefined && rule.model !== subject.model) return false;
  return prompt === null || (subject.prompt !== null && prompt.test(subject.prompt));
}

/**
 * Whether this match triggers the fault; counts the match. Draws depend on the seed, the rule and the match's number.
 */
function strikes(live: LiveRule, seed: number): boolean {
  const { rule } = live;
  const number = live.matched++;
  if (number < (rule.skip ?? 0) || live.struck >= (rule.count ?? Number.POSITIVE_INFINITY)) return false;
  if (chance(seed + live.index * 7919, number) >= (rule.probability ?? 1)) return false;
  live.struck += 1;
  return true;
}

export interface FaultView {
  readonly seed: number;
  readonly rules: readonly (ParsedRule & { readonly matched: number; readonly struck: number })[];
}

/** Holds the rules and selects the one that applies. */
export class FaultEngine {
  #rules: LiveRule[] = [];
  #seed = 0;

  /** Replaces all rules and resets their counters. An invalid regular expression is matched literally. */
  set(rules: readonly ParsedRule[], seed = 0): void {
    this.#seed = seed;
    this.#rules = rules.map((rule, index) => ({ rule, prompt: pattern(rule.prompt), index, matched: 0, struck: 0 }));
  }

  get isIdle(): boolean {
    return this.#rules.length === 0;
  }

  /** Whether any rule of these kinds exists, exhausted or not. */
  has(...kinds: readonly FaultKind[]): boolean {
    return this.#rules.some(({ rule }) => kinds.includes(rule.kind));
  }

  /** The first rule of a kind that applies to this subject; null for none. Each query counts as a match. */
  strike<Kind extends FaultKind>(
    kind: Kind,
    subject: FaultSubject,
    isMeant: (rule: RuleOf<Kind>) => boolean = () => true,
  ): RuleOf<Kind> | null {
    for (const live of this.#rules) {
      if (live.rule.kind !== kind || !isMeant(live.rule as RuleOf<Kind>) || !matches(live, subject)) continue;
      if (strikes(live, this.#seed)) return live.rule as RuleOf<Kind>;
    }
    return null;
  }

  view(): FaultView {
    return { seed: this.#seed, rules: this.#rules.map(({ rule, matched, struck }) => ({ ...rule, matched, struck })) };
  }
}

function pattern(source: string | undefined): RegExp | null {
  if (source === undefined) return null;
  try {
    return new RegExp(source, "i");
  } catch {
    return new RegExp(source.replaceAll(/[^\w\s]/g, "\\$&"), "i");
  }
}
