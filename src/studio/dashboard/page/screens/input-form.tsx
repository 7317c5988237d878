import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../../../core/kit/value-text.ts";
import type { Control, FieldView, KeptFile } from "../../views/document.ts";
import { sendFile } from "../state/api.ts";
import { Button, IconButton } from "../ui/bits.tsx";
import { type Input, isInput } from "../ui/format.ts";

interface Props {
  readonly fields: readonly FieldView[] | null;
  readonly text: string;
  readonly onText: (text: string) => void;
}

export function InputForm({ fields, text, onText }: Props) {
  if (fields === null) return null;
  const values = parsed(text);
  if (values === null) return <p class="note ask">The JSON is not a valid object, so no form is shown.</p>;
  if (fields.length === 0) return <p class="quiet">This pipeline has no input.</p>;
  return (
    <div class="input-form">
      <Fields fields={fields} values={values} onChange={(next) => onText(JSON.stringify(next, null, 2))} />
    </div>
  );
}

function parsed(text: string): Input | null {
  try {
    const value: unknown = JSON.parse(text);
    return isInput(value) ? value : null;
  } catch {
    return null;
  }
}

interface FieldsProps {
  readonly fields: readonly FieldView[];
  readonly values: Input;
  readonly onChange: (values: Input) => void;
}

function Fields({ fields, values, onChange }: FieldsProps) {
  const set = (name: string, value: unknown) => {
    const { [name]: _, ...rest } = values;
    if (value === undefined) return onChange(rest);
    onChange({ ...values, [name]: value });
  };
  return fields.map((field) => (
    <Field key={field.name} field={field} value={values[field.name]} onChange={(value) => set(field.name, value)} />
  ));
}

interface FieldProps {
  readonly field: FieldView;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

const compound: ReadonlySet<string> = new Set(["group", "list"]);

function Field({ field: { name, description, required, control }, value, onChange }: FieldProps) {
  const hint = hintOf(control, required);
  const about = [description, hint].filter(Boolean).join(" · ");
  if (compound.has(control.type)) {
    return (
      <fieldset class="field set">
        <legend>{name}</legend>
        {about !== "" && <small>{about}</small>}
        <Entry control={control} required={required} label={name} value={value} onChange={onChange} />
      </fieldset>
    );
  }
  return (
    <div class="field">
      <span aria-hidden="true">{name}</span>
      <Entry control={control} required={required} label={name} value={value} onChange={onChange} />
      {about !== "" && <small>{about}</small>}
    </div>
  );
}

function hintOf(control: Control, required: boolean): string {
  const optional = required ? [] : ["optional"];
  const range = (min: number | null, max: number | null) => {
    if (min !== null && max !== null) return [`${min} to ${max}`];
    return min !== null ? [`at least ${min}`] : max !== null ? [`at most ${max}`] : [];
  };
  switch (control.type) {
    case "number":
      return [...optional, ...range(control.min, control.max)].join(" · ");
    case "text":
      return [...optional, ...(control.maxLength === null ? [] : [`at most ${control.maxLength} characters`])].join(
        " · ",
      );
    case "file":
      return [...optional, `${control.kind} file`].join(" · ");
    case "list":
      return [...optional, ...range(control.min === 0 ? null : control.min, control.max)].join(" · ");
    default:
      return optional.join();
  }
}

/** Form field for a value. Clearing an optional value removes it from the input. */
export function Entry(props: EntryProps) {
  const Own = entries[props.control.type] as (props: EntryProps) => ComponentChildren;
  return <Own {...props} />;
}

const entries: { readonly [T in Control["type"]]: (props: Of<T>) => ComponentChildren } = {
  text: TextEntry,
  number: NumberEntry,
  switch: SwitchEntry,
  choice: ChoiceEntry,
  file: FileEntry,
  list: ListEntry,
  group: ({ control, value, onChange }) => (
    <Fields fields={control.fields} values={isInput(value) ? value : {}} onChange={onChange} />
  ),
  json: JsonEntry,
};

function ListEntry({ control, label, value, onChange }: Of<"list">) {
  const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const isFull = control.max !== null && items.length >= control.max;
  return (
    <>
      <ol class="list-entry">
        {items.map((item, index) => (
          <li key={index}>
            <div>
              <Entry
                control={control.item}
                required
                label={`${label} ${index + 1}`}
                value={item}
                onChange={(next) => onChange(items.with(index, next))}
              />
            </div>
            <IconButton
              label={`Remove ${label} ${index + 1}`}
              icon="close"
              look="quiet small"
              onClick={() => onChange(items.toSpliced(index, 1))}
            />
          </li>
        ))}
      </ol>
      <Button
        label={`Add to ${label}`}
        look="small"
        disabled={isFull}
        onClick={() => onChange([...items, blank(control.item)])}
      />
    </>
  );
}

function blank(control: Control): unknown {
  if (control.type === "group") {
    const asked = control.fields.filter(({ required }) => required);
    return Object.fromEntries(asked.map(({ name, control: inner }) => [name, blank(inner)]));
  }
  if (control.type === "list") return [];
  if (control.type === "choice") return control.values[0];
  if (control.type === "number") return Math.max(control.min ?? 0, 0);
  return control.type === "switch" ? false : control.type === "json" ? null : "";
}

export interface EntryProps<C extends Control = Control> {
  readonly control: C;
  readonly required: boolean;
  readonly label: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

type Of<T extends Control["type"]> = EntryProps<Extract<Control, { readonly type: T }>>;

const asText = (value: unknown) =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

function TextEntry({ control, required, label, value, onChange }: Of<"text">) {
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

function NumberEntry({ control, required, label, value, onChange }: Of<"number">) {
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

function SwitchEntry({ label, value, onChange }: Of<"switch">) {
  return (
    <input type="checkbox" aria-label={label} checked={value === true} onChange={() => onChange(value !== true)} />
  );
}

function ChoiceEntry({ control, required, label, value, onChange }: Of<"choice">) {
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

function FileEntry({ control, required, label, value, onChange }: Of<"file">) {
  const [note, setNote] = useState<string | null>(null);
  const id = useId();
  // Other fields may change during the upload, so the path goes to the latest callback. The path is dropped if the
  // field was removed.
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

function JsonEntry({ label, value, onChange }: Of<"json">) {
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

function compact(text: string): string | null {
  if (text.trim() === "") return "";
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return null;
  }
}
