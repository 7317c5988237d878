import type { JournalStore, RunView } from "../../index.ts";
import { eventLine } from "./event-line.ts";
import { stepView } from "./step-view.ts";
import { cutJson } from "./truncate.ts";
import type { StepDetail } from "./wire.ts";

const MOST_LINES = 100;
const MOST_NEIGHBOURS = 200;

/** All about one step; null when the run has none of this name. */
export async function stepDetail(journal: JournalStore, view: RunView, path: string): Promise<StepDetail | null> {
  const { state } = view;
  const found = view.step(path);
  if (found === undefined) return null;
  const { plan } = found;
  const events = await journal.read(state.runId);
  const own = events.filter(({ event }) => "step" in event && event.step === path);
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
