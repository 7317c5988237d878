import {
  eventText,
  type JournalStore,
  type RunState,
  type RunView,
  type StepView,
  type StoredEvent,
} from "../../index.ts";
import type { EventLine, StepDetail } from "./run-wire.ts";
import { stepView } from "./step-view.ts";
import { cut, cutJson } from "./truncate.ts";

const MOST_LINES = 100;
const MOST_READ = 10_000;
const MOST_NEIGHBOURS = 200;

/** All about one step; null when the run has none of this name. */
export async function stepDetail(journal: JournalStore, view: RunView, path: string): Promise<StepDetail | null> {
  const { state } = view;
  const found = view.step(path);
  if (found === undefined) return null;
  const { plan } = found;
  const own = await eventsOf(journal, state, found);
  const sent = state.steps[path]!.attempts.at(-1)?.input;
  const { value, isCut } = cutJson(sent ?? ("input" in plan ? plan.input : null));
  return {
    step: stepView(state, found),
    input: value,
    inputIsCut: isCut,
    value: cutJson(found.value).value,
    needs: plan.needs.slice(0, MOST_NEIGHBOURS),
    usedBy: state.planned.plan.steps
      .flatMap((step) => (step.needs.includes(path) ? [step.path] : []))
      .slice(0, MOST_NEIGHBOURS),
    events: own.slice(-MOST_LINES).map(eventLine),
  };
}

/** Events of a step. Of very many, those about its start and its end are read, found by their time. */
async function eventsOf(
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

/** One line of the event log. */
export function eventLine({ seq, at, event }: StoredEvent): EventLine {
  const step = "step" in event ? event.step : null;
  return { seq, at, type: event.type, step, text: cut(eventText(event) ?? "", 300) };
}
