import type { AttemptView, JournalStore, RunRow, RunView } from "../../index.ts";
import { badRequest, type Call, type Route } from "../http/route.ts";
import type { RunCache } from "../runs/run-cache.ts";
import { tagList } from "../views/run-head.ts";
import type { AllCosts, CostRow, ModelCosts, RunCosts } from "../views/run-wire.ts";

const DAY_MS = 86_400_000;
/** Runs read for the costs of a period; the newest ones. */
const MOST_RUNS = 1000;
const MOST_POINTS = 200;

/** Tries of a task cost nothing. */
export function isBilled({ kind }: AttemptView): boolean {
  return kind !== "try";
}

/** What runs cost. */
export function costRoutes({
  journal,
  cache,
}: {
  readonly journal: JournalStore;
  readonly cache: RunCache;
}): readonly Route[] {
  const ledger = new CostLedger(cache);

  const ofRun = async ({ params }: Call): Promise<RunCosts> => {
    const { view } = await cache.get(params.run!);
    return { models: modelCosts(view), spent: spentOverTime(view) };
  };

  const ofAll = async ({ query }: Call): Promise<AllCosts> => {
    const days = Number(query.get("days") ?? 30);
    if (!Number.isSafeInteger(days) || days < 1 || days > 3660)
      throw badRequest("days must be a whole number from 1 to 3660.");
    const from = startOfDay(Date.now()) - (days - 1) * DAY_MS;
    // A run that was not touched since then has been charged nothing since then.
    const rows = (await journal.runs()).filter(({ updatedAt }) => updatedAt >= from);
    const found: CostRow[] = [];
    for (const row of rows.slice(0, MOST_RUNS)) found.push(...(await ledger.of(row)));
    return {
      from,
      to: startOfDay(Date.now()),
      rows: summed(found.filter(({ day }) => day >= from)),
      runsLeftOut: Math.max(0, rows.length - MOST_RUNS),
    };
  };

  return [
    { method: "GET", path: "/api/runs/:run/costs", handle: ofRun },
    { method: "GET", path: "/api/costs", handle: ofAll },
  ];
}

/** What each run cost by day and model; read again only once the run moved. */
class CostLedger {
  readonly #cache: RunCache;
  readonly #known = new Map<
    string,
    { readonly seq: number; readonly createdAt: number; readonly rows: readonly CostRow[] }
  >();

  constructor(cache: RunCache) {
    this.#cache = cache;
  }

  async of(row: RunRow): Promise<readonly CostRow[]> {
    const { runId, lastSeq: seq, createdAt } = row;
    const known = this.#known.get(runId);
    if (known?.seq === seq && known.createdAt === createdAt) return known.rows;
    // A run that cannot be read is listed under Runs with its reason, and does not hide the others.
    const rows = await this.#cache.upTo(row).then(
      ({ view }) => costRows(view),
      () => [],
    );
    this.#known.delete(runId);
    this.#known.set(runId, { seq, createdAt, rows });
    const oldest = this.#known.keys().next();
    if (this.#known.size > MOST_RUNS && oldest.done !== true) this.#known.delete(oldest.value);
    return rows;
  }
}

function costRows({ steps, state }: RunView): readonly CostRow[] {
  const { pipeline } = state.planned.plan;
  const tags = tagList(state.planned.tags);
  return summed(
    billed(steps).map(({ model, costMicros, at }) => ({
      ...{ day: startOfDay(at), pipeline, tags, model: model ?? "other", jobs: 1, costMicros },
    })),
  );
}

interface Billed {
  readonly model: string | null;
  readonly costMicros: number;
  /** When the service charged it, as near as the journal knows. */
  readonly at: number;
}

function billed(steps: RunView["steps"]): readonly Billed[] {
  return steps.flatMap(({ attempts }) =>
    attempts.flatMap((attempt): readonly Billed[] => {
      const { model, costMicros, submittedAt, sentAt, endedAt } = attempt;
      const at = submittedAt ?? sentAt ?? endedAt;
      if (!isBilled(attempt) || costMicros === null || at === null) return [];
      return [{ model, costMicros, at }];
    }),
  );
}

function startOfDay(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

function summed(rows: readonly CostRow[]): readonly CostRow[] {
  const sums = new Map<string, CostRow>();
  for (const row of rows) {
    const key = JSON.stringify([row.day, row.pipeline, row.tags, row.model]);
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, row);
    else sums.set(key, { ...sum, jobs: sum.jobs + row.jobs, costMicros: sum.costMicros + row.costMicros });
  }
  return [...sums.values()];
}

function modelCosts({ steps }: RunView): readonly ModelCosts[] {
  const rows = new Map<string, { readonly name: string; count: number; held: number; cost: number }>();
  for (const { model, money, holdMicros, costMicros } of steps.flatMap(({ attempts }) => attempts.filter(isBilled))) {
    const name = model ?? "not submitted";
    const row = rows.get(name) ?? { name, count: 0, held: 0, cost: 0 };
    row.count += 1;
    row.held += money === "held" ? holdMicros : 0;
    row.cost += costMicros ?? 0;
    rows.set(name, row);
  }
  return [...rows.values()].sort((a, b) => b.cost - a.cost || b.held - a.held);
}

/** The sum after each charge, thinned out to what a chart can show; the last one is always there. */
function spentOverTime({ steps }: RunView): RunCosts["spent"] {
  const charges = [...billed(steps)].filter(({ costMicros }) => costMicros !== 0).sort((a, b) => a.at - b.at);
  const every = Math.max(1, Math.ceil(charges.length / MOST_POINTS));
  let sum = 0;
  const points = charges.map(({ at, costMicros }) => {
    sum += costMicros;
    return { at, sumMicros: sum };
  });
  return points.filter((_, index) => (points.length - 1 - index) % every === 0);
}
