import { useState } from "preact/hooks";
import type { DriftView, RerunView, ResumePreview } from "../../views/action-wire.ts";
import type { RunHead } from "../../views/run-wire.ts";
import { get, post, runPath } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";
import { count, sumText, usd } from "../ui/format.ts";
import { useLoaded } from "../ui/hooks.ts";
import { Dialog } from "../ui/panel.tsx";

export function StopDialog({ model, onClose }: { readonly model: RunModel; readonly onClose: () => void }) {
  const atService = [...model.steps.values()].filter(({ heldMicros }) => heldMicros > 0).length;
  const stop = () => post<void>(`${runPath(model.head.id)}/stop`, {});
  return (
    <Dialog
      title={`Stop ${model.head.title ?? model.head.id}?`}
      action="Stop the run"
      danger
      onAction={stop}
      onClose={onClose}
    >
      <p>Nothing more is submitted. What is finished stays, and the run can be resumed.</p>
      {atService > 0 && (
        <p>
          {count(atService, "job")} under way cannot be called back: {usd(model.head.heldMicros)} is held for them, and
          resuming collects their results.
        </p>
      )}
    </Dialog>
  );
}

interface ResumeProps {
  readonly head: RunHead;
  /** Steps to rerun; none: only resume. */
  readonly rerun?: readonly string[];
  readonly onClose: () => void;
}

/** Resumes a run: as planned, with the changes of its code, or with a rerun of steps. Priced first. */
export function ResumeDialog({ head, rerun = [], onClose }: ResumeProps) {
  const [budget, setBudget] = useState("");
  const [takesUp, setTakesUp] = useState(false);
  // One request id per dialog: a click that is sent twice, or again after a lost answer, is the same request.
  const [requestId] = useState(newRequestId);
  const query = new URLSearchParams([...rerun.map((step) => ["rerun", step]), ["requestId", requestId]]);
  const preview = useLoaded(
    (signal) => get<ResumePreview>(`${runPath(head.id)}/resume-preview?${query}`, signal),
    [head.id],
  );
  const known = preview.state === "ready" ? preview.value : null;
  const isReplaced = rerun.length > 0 || takesUp;
  const problems = isReplaced ? (known?.rerunScope?.problems ?? []) : [];
  const resume = () => post<void>(`${runPath(head.id)}/resume`, { budget, rerun, requestId, acceptChanges: takesUp });
  const [first] = rerun;
  const remade = rerun.length === 1 ? first : count(rerun.length, "step");
  return (
    <Dialog
      title={first === undefined ? `Resume ${head.title ?? head.id}?` : `Make ${remade} again?`}
      action={first === undefined ? "Resume" : "Rerun"}
      ready={preview.state !== "loading" && problems.length === 0 && (rerun.length === 0 || known !== null)}
      onAction={resume}
      onClose={onClose}
    >
      {first === undefined && (
        <p>The run continues where its journal ends. Jobs that were paid for are collected, never submitted again.</p>
      )}
      {preview.state === "loading" && <p class="quiet">Comparing code and prices…</p>}
      {preview.state === "failed" && <p class="note bad">{preview.error.message}</p>}
      {known?.drift != null && <Drifted drift={known.drift} takesUp={takesUp} onChange={setTakesUp} />}
      {isReplaced && known?.rerunScope != null && <Remade rerunScope={known.rerunScope} />}
      <BudgetField head={head} value={budget} onChange={setBudget} />
    </Dialog>
  );
}

/** Made without `crypto.randomUUID`, which a page on plain http does not have. */
function newRequestId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

interface DriftedProps {
  readonly drift: DriftView;
  readonly takesUp: boolean;
  readonly onChange: (takesUp: boolean) => void;
}

function Drifted({ drift, takesUp, onChange }: DriftedProps) {
  const lines = [
    ...drift.changed.map(({ step, fields }) => `${step}: ${fields.join(", ")}`),
    ...drift.added.map((step) => `${step} is new`),
    ...drift.removed.map((step) => `${step} is gone`),
    ...drift.renamed.map(({ from, to }) => `${from} is called ${to} now`),
  ];
  return (
    <fieldset class="drift">
      <legend>The code changed since this run was planned</legend>
      <ul class="plain">
        {lines.slice(0, 8).map((line) => (
          <li key={line}>{line}</li>
        ))}
        {lines.length > 8 && <li>and {lines.length - 8} more</li>}
      </ul>
      <label>
        <input type="radio" name="drift" checked={!takesUp} onChange={() => onChange(false)} /> Continue as it was
        planned
      </label>
      <label>
        <input type="radio" name="drift" checked={takesUp} onChange={() => onChange(true)} /> Take up the changes
      </label>
    </fieldset>
  );
}

function Remade({ rerunScope }: { readonly rerunScope: RerunView }) {
  const { totalMicros, committedMicros, budgetMicros, prices, problems, staleCount, seenThroughFirst } = rerunScope;
  const price = sumText(totalMicros, rerunScope.openSteps);
  const isOver = budgetMicros !== null && committedMicros + rerunScope.expectedMicros > budgetMicros;
  return (
    <div class="remade">
      <p>
        <b class="price">{price}</b> on top of {usd(committedMicros)}, for {count(staleCount, "step")} to make:
      </p>
      <ul class="plain">
        {prices.slice(0, 8).map(({ step, costMicros }) => (
          <li key={step}>
            <span>{step}</span> <span>{usd(costMicros)}</span>
          </li>
        ))}
        {staleCount > 8 && <li>and {staleCount - 8} more</li>}
      </ul>
      {seenThroughFirst.length > 0 && (
        <p class="quiet">{count(seenThroughFirst.length, "job")} under way will be seen through first.</p>
      )}
      {isOver && <p class="note ask">This passes the budget of {usd(budgetMicros)}: set a new one below.</p>}
      {problems.length > 0 && (
        <div class="note bad" role="alert">
          {problems.join(" ")}
        </div>
      )}
    </div>
  );
}

interface BudgetProps {
  readonly head: RunHead;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function BudgetField({ head, value, onChange }: BudgetProps) {
  return (
    <label class="field">
      <span>New budget in dollars</span>
      <input
        inputMode="decimal"
        pattern="\d+(\.\d{1,6})?"
        placeholder={head.budgetMicros === null ? "no budget" : (head.budgetMicros / 1e6).toFixed(2)}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <small>Spent so far: {usd(head.spentMicros)}. Leave empty to keep the budget as it is.</small>
    </label>
  );
}
