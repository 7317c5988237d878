import type { ComponentChildren } from "preact";
import type { Control, FieldView } from "../../views/document.ts";
import { Icon } from "../ui/bits.tsx";
import {
  ChoiceEntry,
  type EntryProps,
  FileEntry,
  JsonEntry,
  NumberEntry,
  type Of,
  SwitchEntry,
  TextEntry,
} from "./entries.tsx";

interface Props {
  readonly fields: readonly FieldView[] | null;
  readonly text: string;
  readonly onText: (text: string) => void;
}

type Values = Readonly<Record<string, unknown>>;

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

function parsed(text: string): Values | null {
  try {
    const value: unknown = JSON.parse(text);
    return isValues(value) ? value : null;
  } catch {
    return null;
  }
}

function isValues(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface FieldsProps {
  readonly fields: readonly FieldView[];
  readonly values: Values;
  readonly onChange: (values: Values) => void;
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

/** Clearing an optional value removes it from the input. */
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
    <Fields fields={control.fields} values={isValues(value) ? value : {}} onChange={onChange} />
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
            <button
              type="button"
              class="button quiet square small"
              aria-label={`Remove ${label} ${index + 1}`}
              onClick={() => onChange(items.toSpliced(index, 1))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ol>
      <button
        type="button"
        class="button small"
        disabled={isFull}
        onClick={() => onChange([...items, blank(control.item)])}
      >
        Add to {label}
      </button>
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
