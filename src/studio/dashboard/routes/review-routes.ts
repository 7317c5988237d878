import { DAY_MS } from "../../../core/kit/duration.ts";
import { traitsOf } from "../../../core/plan/index.ts";
import { RunView } from "../../../core/view/index.ts";
import { badRequest, notFound, optionalPosition, textField } from "../../served/index.ts";
import type { Call, Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import { WaitingDecisions } from "../runs/waiting.ts";
import { decisionAt, stepView } from "../views/page-step.ts";

const LONGEST_FILM_MS = DAY_MS;

export function reviewRoutes(context: DashboardContext): readonly Route[] {
  const { cache } = context;
  const waiting = new WaitingDecisions(context.journal);

  const queue = ({ query }: Call) => {
    const [run = null, pipeline = null, tag = null] = ["run", "pipeline", "tag"].map((name) => query.get(name));
    const wanted = { search: query.get("q") ?? "", run, pipeline, tag };
    return waiting.find(wanted);
  };

  /** Includes comments that no process has read yet. */
  const shown = async ({ query }: Call) => {
    const run = query.get("run") ?? "";
    const { view } = await cache.get(run);
    const step = view.step(query.get("step") ?? "");
    if (step === undefined || traitsOf(step.plan).decision === null) throw notFound("This decision");
    const inbox = await context.journal.inbox(run);
    const said = inbox.flatMap(({ message: one }) =>
      one.type === "comment" && one.step === step.path ? [one.comment] : [],
    );
    const { state } = view;
    const own = state.steps[step.path]!;
    const comments = [...(own.comments ?? []), ...said];
    return stepView(new RunView({ ...state, steps: { ...state.steps, [step.path]: { ...own, comments } } }), step);
  };

  const comment = async ({ params, json }: Call) => {
    const body = await json();
    const step = textField(body, "step");
    const text = textField(body, "text");
    if (text.length > 2000) throw badRequest("text must be a string of at most 2,000 characters.");
    const timeMs = optionalPosition(body, "timeMs") ?? null;
    if (timeMs !== null && timeMs > LONGEST_FILM_MS) throw badRequest("timeMs must not exceed 24 hours.");
    const { view } = await cache.get(params.run!);
    const decision = decisionAt(view, step);
    const position = optionalPosition(body, "take") ?? null;
    const take = position === null ? null : view.offered(decision)[position];
    if (take === undefined) throw badRequest("take must be the position of one of the takes shown.");
    await context.show.comment(params.run!, step, { text, take, timeMs });
    return {};
  };

  return [
    { method: "GET", path: "/api/review", handle: queue },
    { method: "GET", path: "/api/review/step", handle: shown },
    { method: "POST", path: "/api/runs/:run/comment", handle: comment },
  ];
}
