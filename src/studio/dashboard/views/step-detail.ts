import { traitsOf } from "../../../core/plan/index.ts";
import { eventText, type RunState, type RunView, type StepView } from "../../../core/view/index.ts";
import type { JournalStore, PlanStep, StoredEvent } from "../../../index.ts";
import { cut, cutJson, usedMedia } from "./page-step.ts";

const MOST_LINES = 100;
const MOST_READ = 10_000;
const MOST_NEIGHBOURS = 200;
const MOST_USED = 24;

export function stepDetail(
  run: RunView,
  { path, plan, value }: StepView,
  {
    events,
    usedBy,
    mostText,
  }: { readonly events: readonly EventLine[]; readonly usedBy: UsedBy; readonly mostText?: number },
) {
  const sent = run.state.steps[path]!.attempts.at(-1)?.input;
  const { value: input, isCut } = cutJson(sent ?? requested(plan), mostText);
  return {
    input,
    inputIsCut: isCut,
    uses: usedMedia(run, plan).slice(0, MOST_USED),
    value: cutJson(value, mostText).value,
    needs: plan.needs.slice(0, MOST_NEIGHBOURS),
    usedBy: (usedBy.get(path) ?? []).slice(0, MOST_NEIGHBOURS),
    events: events.slice(-MOST_LINES),
  };
}

const ownFields = new Set(["path", "kind", "needs", "fingerprint", "yields", "policy", "when", "outputs", "model"]);

function requested(plan: PlanStep): unknown {
  if ("input" in plan && plan.input !== null) return plan.input;
  // The page shows the items to decide on with the decision.
  if (traitsOf(plan).standsFor.length > 0) return null;
  const fields = Object.entries(plan).filter(([name, value]) => !ownFields.has(name) && value !== null);
  return fields.length === 0 ? null : Object.fromEntries(fields);
}

type UsedBy = ReadonlyMap<string, readonly string[]>;

export function usersOf({ state }: RunView): UsedBy {
  const links = state.planned.plan.steps.flatMap(({ path, needs }) => needs.map((need) => ({ need, path })));
  const users = [...Map.groupBy(links, ({ need }) => need)];
  return new Map(users.map(([need, own]) => [need, own.map(({ path }) => path)]));
}

/** Returns the events of a step. In a very long journal, reads only events near the step's start and end. */
export async function eventsOf(
  journal: JournalStore,
  { runId, seq }: RunState,
  step: StepView,
): Promise<readonly StoredEvent[]> {
  const isOwn = ({ event }: StoredEvent) => "step" in event && event.step === step.path;
  if (seq <= MOST_READ) return (await journal.read(runId)).filter(isOwn);
  const found = new Map<number, StoredEvent>();
  for (const at of new Set([step.startedAt, step.finishedAt])) {
    if (at === null) continue;
    const afterSeq = Math.max(0, (await seqAt(journal, { runId, seq }, at)) - MOST_READ / 2);
    const events = await journal.read(runId, { afterSeq, limit: MOST_READ });
    for (const event of events.filter(isOwn)) found.set(event.seq, event);
  }
  return [...found.values()];
}

async function seqAt(
  journal: JournalStore,
  { runId, seq }: Pick<RunState, "runId" | "seq">,
  at: number,
): Promise<number> {
  let [low, high] = [0, seq];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await journal.read(runId, { afterSeq: middle, limit: 1 });
    if (event !== undefined && event.at < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

export type EventLine = ReturnType<typeof eventLine>;

export function eventLine({ seq, at, event }: StoredEvent) {
  const step = "step" in event ? event.step : null;
  return { seq, at, type: event.type, step, text: cut(eventText(event) ?? "", 300) };
}
