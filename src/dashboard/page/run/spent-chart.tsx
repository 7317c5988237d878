import type { RunCosts } from "../../views/run-wire.ts";
import { span, usd } from "../ui/format.ts";

interface Props {
  readonly spent: RunCosts["spent"];
  /** When the run began. */
  readonly from: number;
  readonly budget: number | null;
}

const WIDTH = 720;
const HEIGHT = 140;

/** What the run had cost by when, as steps. */
export function SpentChart({ spent, from, budget }: Props) {
  const last = spent.at(-1)!;
  const lengthMs = Math.max(1, last.at - from);
  // A budget far above what was spent would press the line onto the ground.
  const isBudgetNear = budget !== null && budget <= last.sumMicros * 3;
  const most = Math.max(1, last.sumMicros, isBudgetNear ? budget : 0);
  const x = (at: number) => (WIDTH * Math.max(0, at - from)) / lengthMs;
  const y = (micros: number) => HEIGHT - (HEIGHT * micros) / most;
  let path = `M0 ${HEIGHT}`;
  for (const { at, sumMicros } of spent) path += `H${x(at).toFixed(1)}V${y(sumMicros).toFixed(1)}`;
  return (
    <figure class="chart">
      <svg
        viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Spent over time: ${usd(last.sumMicros)} after ${span(lengthMs)}`}
      >
        <path class="area" d={`${path}V${HEIGHT}Z`} />
        <path class="line" d={path} />
        {isBudgetNear && <path class="limit" d={`M0 ${y(budget)}H${WIDTH}`} />}
      </svg>
      <figcaption>
        Spent over time: {usd(last.sumMicros)} after {span(lengthMs)}
        {isBudgetNear && `; the dashed line is the budget of ${usd(budget)}`}
      </figcaption>
    </figure>
  );
}
