import { useState } from "preact/hooks";
import type { PageStep, ShownValue as Shown } from "../../views/document.ts";
import { Entry } from "../screens/input-form.tsx";
import { get, runPath } from "../state/api.ts";
import { Button } from "../ui/bits.tsx";
import { useLoaded } from "../ui/hooks.ts";
import { Data } from "../ui/panel.tsx";
import type { Deciding } from "./decision.tsx";

interface Props {
  readonly runId: string;
  readonly step: PageStep;
  readonly value: unknown;
  readonly deciding: Deciding | null;
}

export function ShownValue({ runId, step: { path, decision }, value, deciding }: Props) {
  const { shows, values, choose: isChoice } = decision!;
  const isOnly = shows.length === 0 && values.length === 1 && !isChoice;
  const isOpen = deciding?.canApprove === true && isOnly;
  const changed = deciding?.changed;
  const [isEdited, edit] = useState(changed !== undefined);
  return (
    <>
      <div class="read">
        {isOpen && isEdited ? (
          <ValueEntry runId={runId} step={path} label={values[0]!.step} changed={changed} onChange={deciding.change} />
        ) : (
          <Data value={changed === undefined ? value : changed} />
        )}
      </div>
      {isOpen && (
        <Button
          label={isEdited ? "Discard changes" : "Edit…"}
          look="small"
          onClick={() => {
            if (isEdited) deciding.change(undefined);
            edit(!isEdited);
          }}
        />
      )}
    </>
  );
}

interface EntryProps {
  readonly runId: string;
  readonly step: string;
  readonly label: string;
  readonly changed: unknown;
  readonly onChange: (value: unknown) => void;
}

/** Form field for a new value. Loads the whole value, because the value shown may be truncated. */
function ValueEntry({ runId, step, label, changed, onChange }: EntryProps) {
  const path = `${runPath(runId)}/shown-value?step=${encodeURIComponent(step)}`;
  const loaded = useLoaded((signal) => get<Shown>(path, signal), [path]);
  if (loaded.state === "failed") return <p class="note bad">{loaded.error.message}</p>;
  if (loaded.state === "loading") return null;
  const { value, control } = loaded.value;
  const now = changed === undefined ? value : changed;
  return (
    <div class="input-form">
      <Entry control={control} required label={label} value={now} onChange={onChange} />
    </div>
  );
}
