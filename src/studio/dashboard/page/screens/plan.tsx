import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "../../../../core/kit/duration.ts";
import type { OfferedForm, PagePlan, PageStep } from "../../views/document.ts";
import { GraphTab } from "../graph/graph-tab.tsx";
import { get, post } from "../state/api.ts";
import { useCanAct, useCommands } from "../state/live.ts";
import { go, runHref } from "../state/router.ts";
import { Button, Empty, Fact, Note, Problem, Table, TextField } from "../ui/bits.tsx";
import { count, sumText, usd } from "../ui/format.ts";
import { useLoaded } from "../ui/hooks.ts";
import { Dialog } from "../ui/panel.tsx";
import { InputForm } from "./input-form.tsx";

export function PlanScreen() {
  const canAct = useCanAct();
  const commands = useCommands();
  const offered = useLoaded((signal) => get<readonly OfferedForm[]>("/api/pipelines", signal), []);
  return (
    <div class="page">
      <h1>Plan</h1>
      {!canAct && <p class="note">This login is read-only: it cannot price or start runs.</p>}
      {offered.state === "loading" && <p class="quiet">Loading pipelines…</p>}
      {offered.state === "failed" && (
        <Problem title="The pipelines could not be loaded">{offered.error.message}</Problem>
      )}
      {offered.state === "ready" && offered.value.length === 0 && (
        <Empty title="No pipelines available">
          <p>
            Start the dashboard with one: <code>{commands("showrunner dashboard recipes/talking-avatar.ts")}</code>
          </p>
        </Empty>
      )}
      {offered.state === "ready" && offered.value.length > 0 && <Planner offered={offered.value} />}
    </div>
  );
}

type Answer =
  | { readonly state: "none" | "busy" }
  | { readonly state: "failed"; readonly message: string }
  | { readonly state: "ready"; readonly plan: PagePlan };

async function priced(pipeline: string, text: string): Promise<Answer> {
  try {
    return { state: "ready", plan: await post<PagePlan>("/api/plan", { pipeline, input: JSON.parse(text) }) };
  } catch (error) {
    const message =
      error instanceof SyntaxError ? `The input is not valid JSON: ${error.message}` : (error as Error).message;
    return { state: "failed", message };
  }
}

function Planner({ offered }: { readonly offered: readonly OfferedForm[] }) {
  const [name, setName] = useState(offered[0]!.name);
  const [text, setText] = useState(offered[0]!.sample);
  const [answer, setAnswer] = useState<Answer>({ state: "none" });
  const [isStarting, setStarting] = useState(false);
  // A changed input discards the plan, and any response that is still on its way.
  const edit = (next: string) => {
    setText(next);
    if (next !== text) setAnswer({ state: "none" });
  };
  const choose = (next: string) => {
    setName(next);
    setText(offered.find((one) => one.name === next)!.sample);
    setAnswer({ state: "none" });
  };
  const price = async (event: SubmitEvent) => {
    event.preventDefault();
    const asked: Answer = { state: "busy" };
    setAnswer(asked);
    const next = await priced(name, text);
    setAnswer((latest) => (latest === asked ? next : latest));
  };
  return (
    <>
      <form class="planner" onSubmit={price}>
        <label class="field">
          <span>Pipeline</span>
          <select value={name} onChange={(event) => choose(event.currentTarget.value)}>
            {offered.map((one) => (
              <option key={one.name} value={one.name}>
                {one.pipeline} ({one.name})
              </option>
            ))}
          </select>
        </label>
        <div class="input-sides">
          <InputForm key={name} fields={offered.find((one) => one.name === name)!.fields} text={text} onText={edit} />
          <label class="field">
            <span>Input, as JSON</span>
            <textarea
              class="code"
              rows={8}
              spellcheck={false}
              value={text}
              onInput={(event) => edit(event.currentTarget.value)}
            />
          </label>
        </div>
        <div class="actions">
          <Button
            type="submit"
            label={answer.state === "busy" ? "Getting prices…" : "Check and price"}
            look="primary"
            disabled={answer.state === "busy"}
          />
          <span class="quiet">Spends nothing.</span>
        </div>
      </form>
      {answer.state === "failed" && <Problem title="Planning failed">{answer.message}</Problem>}
      {answer.state === "ready" && <Planned plan={answer.plan} onStart={() => setStarting(true)} />}
      {answer.state === "ready" && isStarting && (
        <StartDialog name={name} text={text} plan={answer.plan} onClose={() => setStarting(false)} />
      )}
    </>
  );
}

function Planned({ plan, onStart }: { readonly plan: PagePlan; readonly onStart: () => void }) {
  const [chosen, choose] = useState<string | null>(null);
  const steps = new Map(plan.steps.map((step) => [step.path, step]));
  const total = sumText({ min: plan.minMicros, max: plan.maxMicros }, plan.openSteps);
  return (
    <section class="planned" aria-label="The plan">
      {plan.problems.length > 0 && (
        <Note title={`${count(plan.problems.length, "problem")} to fix first`} tone="bad" isAlert>
          <ul>
            {plan.problems.map(({ step, field, message }, index) => (
              <li key={index}>
                {[step, field].filter(Boolean).join(" · ")} {message}
              </li>
            ))}
          </ul>
        </Note>
      )}
      {plan.ok && (
        <>
          <dl class="facts">
            <Fact name="Price" value={total} />
            <Fact name="Steps" value={plan.stepCount} />
            {plan.forecastMs !== null && (
              <Fact name="Expected time" hint="based on earlier runs" value={formatDuration(plan.forecastMs)} />
            )}
          </dl>
          {plan.risks.length > 0 && (
            <Note title="Results that may expire before they are used">
              <ul>
                {plan.risks.map((why) => (
                  <li key={why}>{why} You would pay for it again.</li>
                ))}
              </ul>
            </Note>
          )}
          <p>
            <Button label="Start…" look="primary" onClick={onStart} />
          </p>
          <div class="plan-graph">
            <GraphTab
              model={{ steps, groups: null, progress: new Map() }}
              count={plan.stepCount}
              step={chosen}
              group={null}
              onOpen={choose}
              onGroup={(group) => choose(group)}
              longest={plan.criticalPath}
            />
          </div>
          <Prices steps={plan.steps} count={plan.stepCount} chosen={chosen} />
        </>
      )}
    </section>
  );
}

const MOST_ROWS = 300;

interface PricesProps {
  readonly steps: readonly PageStep[];
  readonly count: number;
  readonly chosen: string | null;
}

function Prices({ steps, count: total, chosen }: PricesProps) {
  useEffect(() => document.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" }), [chosen]);
  return (
    <Table
      caption="Prices by step"
      columns={["Step", "Model", "Basis", { number: "Price" }]}
      rest={total > MOST_ROWS ? `and ${total - MOST_ROWS} more steps` : null}
    >
      {steps.slice(0, MOST_ROWS).map(({ path, model, kind, quote, reason, ask }) => (
        <tr key={path} class={path === chosen ? "chosen" : ""}>
          <th scope="row">
            {path}
            {path === chosen && ask !== null && <small class="asked">{ask}</small>}
          </th>
          <td>{model ?? kind}</td>
          <td>{reason ?? quote?.basis}</td>
          <td class="number">{usd(quote?.costMicros ?? null)}</td>
        </tr>
      ))}
    </Table>
  );
}

interface StartProps {
  readonly name: string;
  readonly text: string;
  readonly plan: PagePlan;
  readonly onClose: () => void;
}

function StartDialog({ name, text, plan, onClose }: StartProps) {
  const [budget, setBudget] = useState(((plan.maxMicros ?? plan.expectedMicros) / 1e6).toFixed(2));
  const [id, setId] = useState("");
  const start = async () => {
    const run = await post<{ readonly id: string }>("/api/runs", {
      pipeline: name,
      input: JSON.parse(text),
      budget,
      quote: plan.quote,
      id,
    });
    go(runHref(run.id));
  };
  return (
    <Dialog title="Start this run?" action="Start" onAction={start} onClose={onClose}>
      <TextField
        label="Budget in dollars"
        hint="Jobs that would exceed this budget are not submitted."
        required
        inputMode="decimal"
        pattern="\d+(\.\d{1,6})?"
        value={budget}
        onText={setBudget}
      />
      <TextField
        label="Name of the run (optional)"
        pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
        maxLength={100}
        value={id}
        onText={setId}
      />
      <p class="quiet">
        This dashboard will drive the run. If the dashboard closes, the run stops gracefully and can be resumed.
      </p>
    </Dialog>
  );
}
