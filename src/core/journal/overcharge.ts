import type { AttemptState, Overcharge, RunState } from "./state.ts";

type Worst = Overcharge["worst"];

export function noteCharge(state: RunState, attempt: AttemptState, costMicros: number): void {
  const { model, quote, expectedMicros, costMicros: before } = attempt;
  const expected = expectedMicros ?? 0;
  const already = Math.max(0, (before ?? 0) - expected);
  const excess = Math.max(0, costMicros - expected);
  const isFree = quote?.costMicros === 0 && costMicros === 0;
  if (model === null || (excess === 0 && already === 0 && !isFree && !Object.hasOwn(state.overcharges, model))) return;
  const known = overchargeOf(state, model);
  if (isFree) known.isFree = true;
  if (excess > 0) known.isAbove = true;
  else delete known.isAbove;
  if (costMicros === quote?.costMicros && known.worst?.quotedMicros === costMicros) known.worst = null;
  known.times += Number(excess > 0) - Number(already > 0);
  known.excessMicros += excess - already;
  if (excess > 0) noteExcess(known, quote?.costMicros ?? null, costMicros);
}

function noteExcess(known: Overcharge, quotedMicros: number | null, chargedMicros: number): void {
  if (quotedMicros === null || quotedMicros === 0) known.unquotedMicros = mostOf(known.unquotedMicros, chargedMicros);
  else known.worst = worseOf(known.worst, { quotedMicros, chargedMicros });
}

function overchargeOf({ overcharges }: RunState, model: string): Overcharge {
  if (!Object.hasOwn(overcharges, model)) {
    overcharges[model] = { worst: null, unquotedMicros: null, times: 0, excessMicros: 0 };
  }
  return overcharges[model]!;
}

function worseOf(a: Worst, b: Worst): Worst {
  if (a === null || b === null) return a ?? b;
  const isWorse = BigInt(b.chargedMicros) * BigInt(a.quotedMicros) > BigInt(a.chargedMicros) * BigInt(b.quotedMicros);
  return isWorse ? b : a;
}

function mostOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
