import { useState } from "preact/hooks";
import type { RunHead } from "../../views/wire.ts";
import { post, runPath } from "../state/api.ts";
import { gauges } from "../state/live.ts";
import type { RunModel } from "../state/run-store.ts";
import { useStore } from "../state/store.ts";
import { Dialog } from "../ui/dialog.tsx";
import { count, usd } from "../ui/format.ts";

export function StopDialog({ model, onClose }: { readonly model: RunModel; readonly onClose: () => void }) {
  const atService = [...model.steps.values()].filter(({ heldMicros }) => heldMicros > 0).length;
  const stop = () => post<void>(`${runPath(model.head.id)}/stop`, {});
  return (
    <Dialog title={`Stop ${model.head.id}?`} action="Stop the run" danger onAction={stop} onClose={onClose}>
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

export function ResumeDialog({ head, onClose }: { readonly head: RunHead; readonly onClose: () => void }) {
  const [budget, setBudget] = useState("");
  const resume = () => post<void>(`${runPath(head.id)}/resume`, { budget });
  return (
    <Dialog title={`Resume ${head.id}?`} action="Resume" onAction={resume} onClose={onClose}>
      <p>The run goes on where its journal ends. Jobs that were paid for are collected, never made again.</p>
      <BudgetField head={head} value={budget} onChange={setBudget} />
    </Dialog>
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

export function FundsDialog({ head, onClose }: { readonly head: RunHead | null; readonly onClose: () => void }) {
  const balance = useStore(gauges)?.balanceMicros ?? null;
  const short = Math.max(0, (head?.pause?.requiredMicros ?? 0) - (balance ?? 0));
  const [dollars, setDollars] = useState(String(Math.max(5, Math.ceil(short / 1e6))));
  const url = head?.pause?.fundingUrl ?? null;
  const add = () => post<void>("/api/service/funds", { dollars: Number(dollars) });
  const needed = head?.pause?.requiredMicros;
  return (
    <Dialog title="Add funds" action="Add" ready={Number(dollars) > 0} onAction={add} onClose={onClose}>
      <p>
        The wallet holds {usd(balance)}
        {needed != null && `; the next job needs ${usd(needed)}`}.
      </p>
      {url !== null && (
        <p>
          At a hosted service, add funds{" "}
          <a href={url} target="_blank" rel="noreferrer">
            on its own page
          </a>
          . A local service takes play money here.
        </p>
      )}
      <label class="field">
        <span>Dollars of play money</span>
        <input
          type="number"
          min="0.01"
          step="0.01"
          required
          value={dollars}
          onInput={(event) => setDollars(event.currentTarget.value)}
        />
      </label>
    </Dialog>
  );
}
