import { useState } from "preact/hooks";
import type { AllCosts, CostRow } from "../../views/run-wire.ts";
import { get } from "../state/api.ts";
import { listVersion } from "../state/live.ts";
import { useStore } from "../state/store.ts";
import { Empty, Fact, Meter, Problem } from "../ui/bits.tsx";
import { count, usd } from "../ui/format.ts";
import { useLoaded, useThrottled } from "../ui/hooks.ts";

const DAY_MS = 86_400_000;
const periods = [7, 30, 90] as const;

/** What all runs of the journal cost: by day, by pipeline and by model. */
export function CostsScreen() {
  const [days, setDays] = useState<number>(30);
  const version = useThrottled(useStore(listVersion), 2000);
  const loaded = useLoaded((signal) => get<AllCosts>(`/api/costs?days=${days}`, signal), [days, version]);
  return (
    <div class="page">
      <h1>Costs</h1>
      <fieldset class="chips">
        <legend class="unseen">Period</legend>
        {periods.map((each) => (
          <button type="button" key={each} class="chip" aria-pressed={days === each} onClick={() => setDays(each)}>
            {each} days
          </button>
        ))}
      </fieldset>
      {loaded.state === "loading" && <p class="quiet">Adding up the runs…</p>}
      {loaded.state === "failed" && <Problem title="The costs could not be read">{loaded.error.message}</Problem>}
      {loaded.state === "ready" && <Period costs={loaded.value} />}
    </div>
  );
}

function Period({ costs: { from, to, rows, runsLeftOut } }: { readonly costs: AllCosts }) {
  const total = sum(rows);
  if (rows.length === 0) return <Empty title="Nothing was paid for in this time" />;
  const days = Math.round((to - from) / DAY_MS) + 1;
  return (
    <div class="all-costs">
      <dl class="facts">
        <Fact name="Charged">
          <b>{usd(total)}</b>
        </Fact>
        <Fact name="Jobs">
          <b>{rows.reduce((jobs, row) => jobs + row.jobs, 0)}</b>
        </Fact>
        <Fact name="A day">
          <b>{usd(Math.round(total / days / 100) * 100)}</b>
        </Fact>
      </dl>
      <Days from={from} to={to} rows={rows} />
      <Shares title="By pipeline" rows={rows} namesOf={({ pipeline }) => [pipeline]} />
      <Shares title="By model" rows={rows} namesOf={({ model }) => [model]} />
      {rows.some(({ tags }) => tags.length > 0) && <Shares title="By tag" rows={rows} namesOf={({ tags }) => tags} />}
      {runsLeftOut > 0 && <p class="quiet">{count(runsLeftOut, "older run")} of this time are not counted here.</p>}
    </div>
  );
}

function sum(rows: readonly CostRow[]): number {
  return rows.reduce((micros, { costMicros }) => micros + costMicros, 0);
}

const dayName = (day: number) => new Date(day).toISOString().slice(0, 10);

function Days({ from, to, rows }: Pick<AllCosts, "from" | "to" | "rows">) {
  const days = Array.from({ length: Math.round((to - from) / DAY_MS) + 1 }, (_, index) => from + index * DAY_MS);
  const sums = new Map<number, number>();
  for (const { day, costMicros } of rows) sums.set(day, (sums.get(day) ?? 0) + costMicros);
  const most = Math.max(1, ...sums.values());
  return (
    <section aria-labelledby="by-day">
      <h2 id="by-day">By day</h2>
      <ol class="days">
        {days.map((day) => (
          <li key={day} title={`${dayName(day)}: ${usd(sums.get(day) ?? 0)}`}>
            <i style={{ height: `${(100 * (sums.get(day) ?? 0)) / most}%` }} />
            <span class="unseen">
              {dayName(day)}: {usd(sums.get(day) ?? 0)}
            </span>
          </li>
        ))}
      </ol>
      <p class="days-axis quiet" aria-hidden="true">
        <span>{dayName(from)}</span>
        <span>highest day {usd(most)}</span>
        <span>{dayName(to)}</span>
      </p>
    </section>
  );
}

interface SharesProps {
  readonly title: string;
  readonly rows: readonly CostRow[];
  readonly namesOf: (row: CostRow) => readonly string[];
}

const MOST_SHARES = 30;

function Shares({ title, rows, namesOf }: SharesProps) {
  const named = rows.flatMap((row) => namesOf(row).map((name) => ({ ...row, name })));
  const shares = [...Map.groupBy(named, ({ name }) => name)]
    .map(([name, own]) => ({ name, jobs: own.reduce((jobs, row) => jobs + row.jobs, 0), micros: sum(own) }))
    .sort((a, b) => b.micros - a.micros);
  const most = Math.max(1, shares[0]!.micros);
  return (
    <div class="scroll">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="number">
              Jobs
            </th>
            <th scope="col" class="number">
              Charged
            </th>
            <td />
          </tr>
        </thead>
        <tbody>
          {shares.slice(0, MOST_SHARES).map(({ name, jobs, micros }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{jobs}</td>
              <td class="number">{usd(micros)}</td>
              <td class="share">
                <Meter label={usd(micros)} value={micros} most={most} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shares.length > MOST_SHARES && <p class="quiet">and {shares.length - MOST_SHARES} more</p>}
    </div>
  );
}
