import { useState } from "preact/hooks";
import { DAY_MS } from "../../../../core/kit/duration.ts";
import type { AllCosts } from "../../views/document.ts";
import { get } from "../state/api.ts";
import { listVersion } from "../state/live.ts";
import { useStore } from "../state/store.ts";
import { Chips, Empty, Fact, Meter, Problem, Table } from "../ui/bits.tsx";
import { count, usd } from "../ui/format.ts";
import { useLoaded, useThrottled } from "../ui/hooks.ts";

const periods = [7, 30, 90].map((days) => ({ value: days, text: `${days} days` }));

export function CostsScreen() {
  const [days, setDays] = useState(30);
  const version = useThrottled(useStore(listVersion), 2000);
  const loaded = useLoaded((signal) => get<AllCosts>(`/api/costs?days=${days}`, signal), [days, version]);
  return (
    <div class="page">
      <h1>Costs</h1>
      <Chips legend="Period" chips={periods} chosen={days} onChoose={setDays} />
      {loaded.state === "loading" && <p class="quiet">Adding up the runs…</p>}
      {loaded.state === "failed" && <Problem title="The costs could not be loaded">{loaded.error.message}</Problem>}
      {loaded.state === "ready" && <Period costs={loaded.value} />}
    </div>
  );
}

function Period({ costs: { from, days, pipelines, tags, models, runsLeftOut } }: { readonly costs: AllCosts }) {
  const total = days.reduce((sum, one) => sum + one, 0);
  if (total === 0 && pipelines.length === 0) return <Empty title="No charges in this period" />;
  return (
    <div class="all-costs">
      <dl class="facts">
        <Fact name="Charged" value={usd(total)} />
        <Fact name="Per day" value={usd(Math.round(total / days.length / 100) * 100)} />
      </dl>
      <Days from={from} days={days} />
      <Shares title="By pipeline" shares={pipelines} />
      <Shares title="By tag" shares={tags} />
      <Shares title="By model (the service's figures)" shares={models} />
      {runsLeftOut > 0 && (
        <p class="quiet">The totals by pipeline exclude {count(runsLeftOut, "older run")} in this period.</p>
      )}
    </div>
  );
}

const dayName = (day: number) => new Date(day).toISOString().slice(0, 10);

function Days({ from, days }: Pick<AllCosts, "from" | "days">) {
  const most = Math.max(1, ...days);
  return (
    <section aria-labelledby="by-day">
      <h2 id="by-day">By day</h2>
      <ol class="days">
        {days.map((micros, at) => {
          const said = `${dayName(from + at * DAY_MS)}: ${usd(micros)}`;
          return (
            <li key={said} title={said}>
              <i style={{ height: `${(100 * micros) / most}%` }} />
              <span class="unseen">{said}</span>
            </li>
          );
        })}
      </ol>
      <p class="days-axis quiet" aria-hidden="true">
        <span>{dayName(from)}</span>
        <span>highest day {usd(most)}</span>
        <span>{dayName(from + (days.length - 1) * DAY_MS)}</span>
      </p>
    </section>
  );
}

const MOST_SHARES = 30;

function Shares({ title, shares }: { readonly title: string; readonly shares: AllCosts["models"] }) {
  const sorted = shares.toSorted((a, b) => b.costMicros - a.costMicros);
  const [first] = sorted;
  if (first === undefined) return null;
  return (
    <Table
      caption={title}
      columns={["Name", { number: "Charged" }, null]}
      rest={sorted.length > MOST_SHARES ? `and ${sorted.length - MOST_SHARES} more` : null}
    >
      {sorted.slice(0, MOST_SHARES).map(({ name, costMicros }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td class="number">{usd(costMicros)}</td>
          <td class="share">
            <Meter label={usd(costMicros)} value={costMicros} most={Math.max(1, first.costMicros)} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
