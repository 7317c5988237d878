import { useState } from "preact/hooks";
import type { StepInputView } from "../../views/action-wire.ts";
import { InputForm } from "../screens/input-form.tsx";
import { get, runPath } from "../state/api.ts";
import { useLoaded } from "../ui/hooks.ts";

/** Fields that somebody changed, as the server takes them: `null` for one that is left out. */
export type ChangedFields = Readonly<Record<string, unknown>>;

interface Props {
  readonly runId: string;
  readonly step: string;
  readonly onChange: (fields: ChangedFields) => void;
}

/** The input of a step as a form; tells what in it is not as it was. */
export function StepInput({ runId, step, onChange }: Props) {
  const [text, setText] = useState<string | null>(null);
  const path = `${runPath(runId)}/step-input?step=${encodeURIComponent(step)}`;
  const loaded = useLoaded((signal) => get<StepInputView>(path, signal), [path]);
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
      <legend>Its input</legend>
      <InputForm fields={fields} text={text ?? before} onText={change} />
    </fieldset>
  );
}

function changedFields(before: ChangedFields, after: ChangedFields): ChangedFields {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null]));
}
