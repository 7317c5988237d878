import { useEffect, useId, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../../../core/kit/value-text.ts";
import type { Control, KeptFile } from "../../views/document.ts";
import { sendFile } from "../state/api.ts";

export interface EntryProps<C extends Control = Control> {
  readonly control: C;
  readonly required: boolean;
  readonly label: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

export type Of<T extends Control["type"]> = EntryProps<Extract<Control, { readonly type: T }>>;

const asText = (value: unknown) =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

export function TextEntry({ control, required, label, value, onChange }: Of<"text">) {
  const id = useId();
  if (control.suggested !== undefined) {
    return (
      <>
        <input
          aria-label={label}
          list={id}
          required={required}
          value={asText(value)}
          onInput={({ currentTarget: { value: text } }) => onChange(text === "" && !required ? undefined : text)}
        />
        <datalist id={id}>
          {control.suggested.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </>
    );
  }
  return (
    <textarea
      rows={1}
      aria-label={label}
      required={required && control.minLength > 0}
      {...(control.maxLength !== null && { maxLength: control.maxLength })}
      value={asText(value)}
      onInput={({ currentTarget: { value: text } }) => onChange(text === "" && !required ? undefined : text)}
    />
  );
}

export function NumberEntry({ control, required, label, value, onChange }: Of<"number">) {
  const [text, setText] = useState(asText(value));
  useEffect(() => {
    if (text.trim() === "" ? value !== undefined : Number(text) !== value) setText(asText(value));
  }, [value]);
  return (
    <input
      type="number"
      aria-label={label}
      required={required}
      step={control.isInteger ? 1 : "any"}
      {...(control.min !== null && { min: control.min })}
      {...(control.max !== null && { max: control.max })}
      value={text}
      onInput={({ currentTarget: { value: typed } }) => {
        setText(typed);
        onChange(typed.trim() === "" ? undefined : Number(typed));
      }}
    />
  );
}

export function SwitchEntry({ label, value, onChange }: Of<"switch">) {
  return (
    <input type="checkbox" aria-label={label} checked={value === true} onChange={() => onChange(value !== true)} />
  );
}

export function ChoiceEntry({ control, required, label, value, onChange }: Of<"choice">) {
  const chosen = control.values.indexOf(value as string);
  return (
    <select
      aria-label={label}
      value={chosen}
      onChange={({ currentTarget: { value: index } }) => onChange(control.values[Number(index)])}
    >
      {(!required || chosen < 0) && <option value={-1}>{required ? "Choose…" : "not set"}</option>}
      {control.values.map((each, index) => (
        <option key={each} value={index}>
          {String(each)}
        </option>
      ))}
    </select>
  );
}

export function FileEntry({ control, required, label, value, onChange }: Of<"file">) {
  const [note, setNote] = useState<string | null>(null);
  const id = useId();
  // Other fields may change during the upload, so the path goes to the latest callback. It is dropped if the field was
  // removed.
  const latest = useRef<typeof onChange | null>(onChange);
  latest.current = onChange;
  useEffect(
    () => () => {
      latest.current = null;
    },
    [],
  );
  const pick = async (file: File | undefined) => {
    if (file === undefined) return;
    setNote(`Copying ${file.name}…`);
    try {
      const { path, sizeBytes } = await sendFile<KeptFile>(`/api/files?name=${encodeURIComponent(file.name)}`, file);
      latest.current?.(path);
      setNote(`${file.name}, ${formatBytes(sizeBytes)}`);
    } catch (error) {
      setNote((error as Error).message);
    }
  };
  return (
    <div class="file-entry">
      <input
        aria-label={label}
        placeholder="path of a file on the dashboard's machine"
        required={required}
        value={asText(value)}
        onInput={({ currentTarget: { value: path } }) => onChange(path === "" && !required ? undefined : path)}
      />
      <label class="button small" for={id}>
        Choose…
      </label>
      <input
        id={id}
        type="file"
        class="unseen"
        aria-label={`Choose a file for ${label}`}
        accept={`${control.kind}/*`}
        onChange={({ currentTarget }) => {
          void pick(currentTarget.files?.[0]);
          currentTarget.value = "";
        }}
      />
      <small role="status">{note ?? ""}</small>
    </div>
  );
}

export function JsonEntry({ label, value, onChange }: Of<"json">) {
  const written = value === undefined ? "" : JSON.stringify(value, null, 2);
  const [text, setText] = useState(written);
  const [isWrong, setWrong] = useState(false);
  useEffect(() => {
    if (!isWrong && text !== written && compact(text) !== compact(written)) setText(written);
  }, [written]);
  return (
    <>
      <textarea
        class="code"
        rows={2}
        aria-label={label}
        aria-invalid={isWrong}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget: { value: typed } }) => {
          setText(typed);
          const next = compact(typed);
          setWrong(next === null);
          if (next !== null) onChange(next === "" ? undefined : JSON.parse(next));
        }}
      />
      {isWrong && <small class="bad">This is not valid JSON; the last valid value is used.</small>}
    </>
  );
}

/** Returns null if the JSON is invalid. */
function compact(text: string): string | null {
  if (text.trim() === "") return "";
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return null;
  }
}
