import { formatDuration } from "../../../duration.ts";
import type { RunCosts } from "../../views/run-wire.ts";
import { usd } from "../ui/format.ts";

interface Props {
  readonly spent: RunCosts["spent"];
  /** When the run began. */
  readonly from: number;
  readonly budget: number | null;
}

const WIDTH = 720;
const HEIGHT = 140;

/** What the run had cost after each charge. Charges stand side by side: hours between two of them would hide the others. */
export function SpentChart({ spent, from, budget }: Props) {
  const last = spent.at(-1)!;
  const lengthMs = Math.max(0, last.at - from);
  // A budget far above what was spent would press the line onto the ground.
  const isBudgetNear = budget !== null && budget <= last.sumMicros * 3;
  const most = Math.max(1, last.sumMicros, isBudgetNear ? budget : 0);
  const x = (charges: number) => (WIDTH * charges) / spent.length;
  const y = (micros: number) => HEIGHT - (HEIGHT * micros) / most;
  let path = `M0 ${HEIGHT}`;
  for (const [index, { sumMicros }] of spent.entries()) {
    path += `V${y(sumMicros).toFixed(1)}H${x(index + 1).toFixed(1)}`;
  }
  return (
    <figure class="chart">
      <svg
        viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Spent, charge by charge: ${usd(last.sumMicros)} after ${formatDuration(lengthMs)}`}
      >
        <path class="area" d={`${path}V${HEIGHT}Z`} />
        <path class="line" d={path} />
        {isBudgetNear && <path class="limit" d={`M0 ${y(budget)}H${WIDTH}`} />}
      </svg>
      <figcaption>
        Spent, charge by charge: {usd(last.sumMicros)} after {formatDuration(lengthMs)}
        {isBudgetNear && `; the dashed line is the budget of ${usd(budget)}`}
      </figcaption>
    </figure>
  );
}
