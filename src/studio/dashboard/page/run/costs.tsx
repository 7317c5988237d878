import { formatDuration } from "../../../../core/kit/duration.ts";
import type { PageAttempt, RunCosts } from "../../views/document.ts";
import { isBilled } from "../../views/run-costs.ts";
import { get, runPath } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";
import { Empty, Fact, Meter, StepLink, Table } from "../ui/bits.tsx";
import { usd } from "../ui/format.ts";
import { useLoaded, useSteps, useThrottled } from "../ui/hooks.ts";
import { VirtualList } from "../ui/virtual.tsx";

interface Entry {
  readonly step: string;
  readonly attempt: PageAttempt;
}

export function CostsTab({ model, onOpen }: { readonly model: RunModel; readonly onOpen: (step: string) => void }) {
  const { head } = model;
  const { steps, more } = useSteps(model, { with: "attempts" }, ({ attempts }) => attempts.some(isBilled));
  const entries = steps.flatMap(({ path, attempts }) =>
    attempts.filter(isBilled).map((attempt): Entry => ({ step: path, attempt })),
  );
  const seq = useThrottled(head.seq, 1000);
  const costs = useLoaded((signal) => get<RunCosts>(`${runPath(head.id)}/costs`, signal), [head.id, seq]);
  const { models, spent } = costs.state === "ready" ? costs.value : { models: [], spent: [] };
  const most = Math.max(1, ...models.map(({ cost, held }) => cost + held));
  const left = head.budgetMicros === null ? null : head.budgetMicros - head.spentMicros - head.heldMicros;
  return (
    <div class="costs">
      <dl class="facts">
        <Fact name="Spent" value={usd(head.spentMicros)} />
        <Fact name="Held" hint="reserved for running jobs" value={usd(head.heldMicros)} />
        <Fact name="Quoted at start" value={usd(head.quoteMicros)} />
        <Fact name="Budget left" value={left === null ? "no budget" : usd(left)} />
      </dl>
      {entries.length === 0 ? (
        <Empty title="No charges yet" />
      ) : (
        <>
          {spent.length > 1 && (
            <SpentChart spent={spent} from={head.startedAt ?? head.createdAt} budget={head.budgetMicros} />
          )}
          <h2>By model</h2>
          <Table
            columns={[
              "Model",
              { number: "Attempts" },
              { number: "Quoted" },
              { number: "Held" },
              { number: "Cost" },
              null,
            ]}
          >
            {models.map(({ name, count, quoted, held, cost }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">{count}</td>
                <td class="number">{usd(quoted)}</td>
                <td class="number">{held === 0 ? "–" : usd(held)}</td>
                <td class="number">{usd(cost)}</td>
                <td class="share">
                  <Meter label={`${usd(cost)} and ${usd(held)} held`} value={cost} soft={held} most={most} />
                </td>
              </tr>
            ))}
          </Table>
          <h2>Ledger</h2>
          <div class="ledger">
            <div class="ledger-row head" aria-hidden="true">
              {["Step", "Attempt", "Quoted", "Held", "Cost", "Money"].map((name) => (
                <span key={name}>{name}</span>
              ))}
            </div>
            <VirtualList items={entries} rowHeight={36} label="Ledger by attempt" onEnd={more}>
              {(entry) => <LedgerRow entry={entry} onOpen={onOpen} />}
            </VirtualList>
          </div>
        </>
      )}
    </div>
  );
}

function LedgerRow({ entry, onOpen }: { readonly entry: Entry; readonly onOpen: (step: string) => void }) {
  const { step, attempt } = entry;
  const cells = {
    attempt: attempt.n,
    quoted: usd(attempt.quote?.costMicros ?? null),
    held: attempt.money === "held" ? usd(attempt.holdMicros) : "–",
    cost: usd(attempt.costMicros),
  };
  return (
    <div class="ledger-row">
      <StepLink step={step} onOpen={onOpen} />
      {Object.entries(cells).map(([name, text]) => (
        <span key={name}>
          <span class="unseen">{name} </span>
          {text}
        </span>
      ))}
      <span>{attempt.money === "none" ? "" : attempt.money}</span>
    </div>
  );
}

interface Props {
  readonly spent: RunCosts["spent"];
  readonly from: number;
  readonly budget: number | null;
}

const WIDTH = 720;
const HEIGHT = 140;

/**
 * Chart of the money spent. Charges are spaced evenly instead of by time, because one long gap would squeeze all the
 * charges together.
 */
function SpentChart({ spent, from, budget }: Props) {
  const last = spent.at(-1)!;
  const lengthMs = Math.max(0, last.at - from);
  // A budget far above the cost would flatten the line.
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
        aria-label={`Total spent, charge by charge: ${usd(last.sumMicros)} after ${formatDuration(lengthMs)}`}
      >
        <path class="area" d={`${path}V${HEIGHT}Z`} />
        <path class="line" d={path} />
        {isBudgetNear && <path class="limit" d={`M0 ${y(budget)}H${WIDTH}`} />}
      </svg>
      <figcaption>
        Total spent, charge by charge: {usd(last.sumMicros)} after {formatDuration(lengthMs)}
        {isBudgetNear && `; the dashed line is the budget of ${usd(budget)}`}
      </figcaption>
    </figure>
  );
}
