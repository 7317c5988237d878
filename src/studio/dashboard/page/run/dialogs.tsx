import { useState } from "preact/hooks";
import type { PageDrift, PageRerun, ResumePreview, RunHead, StepForm } from "../../views/document.ts";
import { InputForm } from "../screens/input-form.tsx";
import { get, post, runPath } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";
import { ShortList, TextField } from "../ui/bits.tsx";
import { count, sumText, usd } from "../ui/format.ts";
import { useLoaded, useThrottled } from "../ui/hooks.ts";
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
      <p>No more jobs will be submitted. Finished results are kept, and the run can be resumed.</p>
      {atService > 0 && (
        <p>
          {count(atService, "job")} already on the service cannot be stopped. {usd(model.head.heldMicros)} is reserved
          for them; their results are collected when the run is resumed.
        </p>
      )}
    </Dialog>
  );
}

type Resumed = Pick<RunHead, "id" | "title"> & Partial<Pick<RunHead, "budgetMicros" | "spentMicros">>;

interface ResumeProps {
  readonly head: Resumed;
  readonly rerun?: readonly string[];
  readonly isEditable?: boolean;
  readonly redo?: { readonly step: string; readonly note: string };
  readonly onResumed?: () => void;
  readonly onClose: () => void;
}

export function ResumeDialog({ head, rerun = [], isEditable = false, redo, onResumed, onClose }: ResumeProps) {
  const [budget, setBudget] = useState("");
  const [note, setNote] = useState(redo?.note ?? "");
  const [fields, setFields] = useState<ChangedFields>({});
  const [takesUp, setTakesUp] = useState(false);
  const [sameSeed, setSameSeed] = useState(false);
  const [everywhere, setEverywhere] = useState<boolean | null>(null);
  // One request id per dialog, so that a repeated click, or a retry after a lost answer, is the same request.
  const [requestId] = useState(newRequestId);
  const [first] = rerun;
  const isEdited = Object.keys(fields).length > 0;
  const choice = everywhere === null ? {} : { everywhere };
  // An edit reruns its step, so the request needs no `rerun`.
  const wanted =
    redo !== undefined
      ? { redo: redo.step, note, requestId, ...choice }
      : isEdited
        ? { edit: { [first!]: fields }, ...choice }
        : { rerun, requestId };
  const asked = useThrottled(JSON.stringify(wanted), 500);
  /** Incremented to load the costs again after a refusal or lost response. */
  const [turn, setTurn] = useState(0);
  const preview = useLoaded(
    async (signal) => ({
      of: asked,
      turn,
      shown: await post<ResumePreview>(`${runPath(head.id)}/resume-preview`, JSON.parse(asked), signal),
    }),
    [head.id, asked, turn],
  );
  const isNewest = preview.state === "ready" && preview.value.turn === turn;
  const isKnown = isNewest && preview.value.of === JSON.stringify(wanted);
  const known = preview.state === "ready" ? preview.value.shown : null;
  const isRemade = rerun.length > 0 || redo !== undefined;
  const isReplaced = isRemade || takesUp;
  const problems = isReplaced ? (known?.rerunScope?.problems ?? []) : [];
  const elsewhere = known?.sameText ?? [];
  const isDecided = elsewhere.length === 0 || everywhere !== null;
  const same = known?.rerunScope?.sameSeed ?? [];
  const quote = isReplaced ? (known?.rerunScope?.quote ?? undefined) : undefined;
  const resume = async () => {
    const answer = { budget, note, acceptChanges: takesUp, sameSeed, quote };
    try {
      await post<void>(`${runPath(head.id)}/resume`, { ...wanted, ...answer });
    } catch (error) {
      setTurn(turn + 1);
      throw error;
    }
    onResumed?.();
  };
  const remade = redo?.step ?? (rerun.length === 1 ? first : count(rerun.length, "step"));
  const isNoted = isEdited || redo !== undefined;
  return (
    <Dialog
      title={isRemade ? `Rerun ${remade}?` : `Resume ${head.title ?? head.id}?`}
      action={isRemade ? "Rerun" : "Resume"}
      ready={
        problems.length === 0 &&
        (same.length === 0 || sameSeed) &&
        isDecided &&
        (isReplaced ? isKnown : preview.state !== "loading")
      }
      onAction={resume}
      onClose={onClose}
    >
      {!isRemade && (
        <p>
          The run continues where it left off. Jobs already paid for are not submitted again; their results are
          collected.
        </p>
      )}
      {isEditable && <StepInput runId={head.id} step={first!} onChange={setFields} />}
      {isNoted && (
        <TextField
          label={redo === undefined ? "Why" : "What to change"}
          hint={`Stored in the run's history.${redo === undefined ? " Optional." : ""}`}
          maxLength={2000}
          value={note}
          onText={setNote}
        />
      )}
      {redo !== undefined && known !== null && <Revised edited={known.edited} />}
      {preview.state === "loading" && <p class="quiet">Comparing code and prices…</p>}
      {preview.state === "failed" && (
        <p class="note bad">
          {preview.error.message}{" "}
          <button type="button" class="link" onClick={() => setTurn(turn + 1)}>
            Retry
          </button>
        </p>
      )}
      {known?.drift != null && !isRemade && <Drifted drift={known.drift} takesUp={takesUp} onChange={setTakesUp} />}
      {isNoted && known?.drift != null && isMoreChanged(known.drift, known.edited) && (
        <div class="note ask">
          The code has changed since this run was planned; these changes will also be applied:
          <DriftLines drift={known.drift} />
        </div>
      )}
      {isReplaced && known?.rerunScope != null && <Remade rerunScope={known.rerunScope} />}
      {isNoted && (elsewhere.length > 0 || everywhere !== null) && (
        <fieldset class="drift">
          <legend>
            {elsewhere.length === 0
              ? "Other steps also contain the old text"
              : `The old text also appears in ${elsewhere.map(({ step }) => step).join(", ")}`}
          </legend>
          <label>
            <input type="radio" name="everywhere" checked={everywhere === true} onChange={() => setEverywhere(true)} />{" "}
            Replace it there too
          </label>
          <label>
            <input
              type="radio"
              name="everywhere"
              checked={everywhere === false}
              onChange={() => setEverywhere(false)}
            />{" "}
            Keep it there
          </label>
        </fieldset>
      )}
      {same.length > 0 && (
        <label class="note ask">
          <input
            type="checkbox"
            checked={sameSeed}
            onInput={({ currentTarget }) => setSameSeed(currentTarget.checked)}
          />{" "}
          The code sets {same.map(({ step, seed }) => `seed ${seed} for ${step}`).join(", ")}. The same request would be
          sent again, and you would probably pay for the same result. Rerun anyway.
        </label>
      )}
      <BudgetField head={{ ...known?.rerunScope, ...head }} value={budget} onChange={setBudget} />
    </Dialog>
  );
}

// `crypto.randomUUID` does not exist on plain http pages.
function newRequestId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

interface DriftedProps {
  readonly drift: PageDrift;
  readonly takesUp: boolean;
  readonly onChange: (takesUp: boolean) => void;
}

function isMoreChanged({ changed, added, removed, renamed }: PageDrift, edited: ResumePreview["edited"]): boolean {
  const others = changed.filter((one) => !edited.some(({ step }) => step === one.step));
  return others.length + added.length + removed.length + renamed.length > 0;
}

function DriftLines({ drift }: { readonly drift: PageDrift }) {
  const lines = [
    ...drift.changed.map(({ step, fields }) => `${step}: ${fields.join(", ")}`),
    ...drift.added.map((step) => `${step} is new`),
    ...drift.removed.map((step) => `${step} was removed`),
    ...drift.renamed.map(({ from, to }) => `${from} is now called ${to}`),
  ];
  return <ShortList lines={lines} most={8} />;
}

function Drifted({ drift, takesUp, onChange }: DriftedProps) {
  return (
    <fieldset class="drift">
      <legend>The code has changed since this run was planned</legend>
      <DriftLines drift={drift} />
      <label>
        <input type="radio" name="drift" checked={!takesUp} onChange={() => onChange(false)} /> Continue with the old
        plan
      </label>
      <label>
        <input type="radio" name="drift" checked={takesUp} onChange={() => onChange(true)} /> Apply the changes
      </label>
    </fieldset>
  );
}

function Remade({ rerunScope }: { readonly rerunScope: PageRerun }) {
  const {
    totalMicros,
    committedMicros,
    budgetMicros,
    prices,
    problems,
    staleCount,
    seeds,
    seenThroughFirst,
    unanswered,
  } = rerunScope;
  const price = sumText(totalMicros, rerunScope.openSteps);
  const isOver = budgetMicros !== null && committedMicros + rerunScope.expectedMicros > budgetMicros;
  return (
    <div class="remade">
      {(staleCount > 0 || problems.length === 0) && (
        <p>
          <b class="price">{price}</b> on top of {usd(committedMicros)}, for {count(staleCount, "step")} to run:
        </p>
      )}
      <ul class="plain">
        {prices.slice(0, 8).map(({ step, costMicros }) => (
          <li key={step}>
            <span>{step}</span> <span>{usd(costMicros)}</span>
          </li>
        ))}
        {staleCount > 8 && <li>and {staleCount - 8} more</li>}
      </ul>
      {seeds.length > 0 && (
        <p class="quiet">With a new seed: {seeds.map(({ step, after }) => `${step} ${after}`).join(", ")}.</p>
      )}
      {seenThroughFirst.length > 0 && (
        <p class="quiet">{count(seenThroughFirst.length, "running job")} will be completed first.</p>
      )}
      {unanswered.map(({ step, holdMicros }) => (
        <p key={step} class="note ask">
          The request for {step} was never answered. Showrunner looks for its job on the service. If it finds the job,
          which is already paid for, it collects the result; if no job exists, it sends the changed request instead. If
          it cannot tell, it sends the old request again under the same key, for at most {usd(holdMicros)}.
        </p>
      ))}
      {isOver && <p class="note ask">This exceeds the budget of {usd(budgetMicros)}. Set a new one below.</p>}
      {problems.length > 0 && (
        <div class="note bad" role="alert">
          {problems.join(" ")}
        </div>
      )}
    </div>
  );
}

function Revised({ edited }: Pick<ResumePreview, "edited">) {
  if (edited.length === 0) {
    return (
      <p class="note ask">
        The step's code has no <code>revise</code> function to apply a note, so the step reruns unchanged, with new
        seeds for takes.
      </p>
    );
  }
  return (
    <dl class="data">
      {edited.map(({ step, field, value }) => (
        <div key={`${step} ${field}`}>
          <dt>
            {step} {field}
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface BudgetProps {
  readonly head: Partial<Pick<RunHead, "budgetMicros" | "spentMicros">>;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function BudgetField({ head, value, onChange }: BudgetProps) {
  const spent = head.spentMicros === undefined ? "" : `Spent so far: ${usd(head.spentMicros)}. `;
  return (
    <TextField
      label="New budget in dollars"
      hint={`${spent}Leave empty to keep the current budget.`}
      inputMode="decimal"
      pattern="\d+(\.\d{1,6})?"
      placeholder={head.budgetMicros == null ? "no budget" : (head.budgetMicros / 1e6).toFixed(2)}
      value={value}
      onText={onChange}
    />
  );
}

/** New values of the changed fields. A null value removes the field. */
type ChangedFields = Readonly<Record<string, unknown>>;

interface Props {
  readonly runId: string;
  readonly step: string;
  readonly onChange: (fields: ChangedFields) => void;
}

function StepInput({ runId, step, onChange }: Props) {
  const [text, setText] = useState<string | null>(null);
  const path = `${runPath(runId)}/step-input?step=${encodeURIComponent(step)}`;
  const loaded = useLoaded((signal) => get<StepForm>(path, signal), [path]);
  if (loaded.state === "failed") return <p class="note bad">{loaded.error.message}</p>;
  if (loaded.state === "loading") return null;
  const { fields, why, text: before } = loaded.value;
  if (fields === null) return why === null ? null : <p class="quiet">{why}</p>;
  const change = (next: string) => {
    setText(next);
    onChange(changedFields(JSON.parse(before), JSON.parse(next)));
  };
  return (
    <fieldset class="step-input">
      <legend>Input</legend>
      <InputForm fields={fields} text={text ?? before} onText={change} />
    </fieldset>
  );
}

function changedFields(before: ChangedFields, after: ChangedFields): ChangedFields {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null]));
}
