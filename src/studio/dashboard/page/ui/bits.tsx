import type { AllHTMLAttributes, AnchorHTMLAttributes, ButtonHTMLAttributes, ComponentChildren } from "preact";
import type { StepCounts } from "../../views/document.ts";
import type { StepPhase } from "../../views/groups.ts";
import { go } from "../state/router.ts";
import { count } from "./format.ts";

type Props = AnchorHTMLAttributes<HTMLAnchorElement> & { readonly href: string; readonly children: ComponentChildren };

export function Link({ href, children, ...rest }: Props) {
  const open = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a {...rest} href={href} onClick={open}>
      {children}
    </a>
  );
}

type Pressable = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "class" | "icon" | "label">;

interface ButtonProps extends Pressable {
  readonly label: string;
  /** Additional CSS classes, such as `primary`, `danger` and `small`. */
  readonly look?: string;
}

export function Button({ label, look = "", ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={`button ${look}`}>
      {label}
    </button>
  );
}

export function IconButton({ label, icon, look = "", ...rest }: ButtonProps & { readonly icon: IconName }) {
  return (
    <button type="button" aria-label={label} {...rest} class={`button square ${look}`}>
      <Icon name={icon} />
    </button>
  );
}

interface StepLinkProps {
  readonly step: string;
  readonly text?: string;
  readonly onOpen: (step: string) => void;
}

export function StepLink({ step, text = step, onOpen }: StepLinkProps) {
  return (
    <button type="button" class="link" onClick={() => onOpen(step)}>
      {text}
    </button>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onText: (text: string) => void;
}

type TextAttributes = "inputMode" | "pattern" | "placeholder" | "required" | "maxLength" | "readOnly" | "autocomplete";

interface TextFieldProps extends FieldProps, Pick<AllHTMLAttributes<HTMLInputElement>, TextAttributes | "onFocus"> {
  readonly hint?: string;
}

export function TextField({ label, value, onText, hint, ...rest }: TextFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input {...rest} value={value} onInput={({ currentTarget }) => onText(currentTarget.value)} />
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
}

export function NoteField({ label, value, onText }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <textarea rows={2} maxLength={2000} value={value} onInput={({ currentTarget }) => onText(currentTarget.value)} />
    </label>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly isAll?: boolean;
  readonly children?: ComponentChildren;
}

export function Empty({ title, isAll = false, children }: EmptyProps) {
  return (
    <div class="empty">
      <Mark />
      {isAll ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

interface NoteProps {
  readonly title: string;
  readonly tone?: "ask" | "bad";
  readonly isAlert?: boolean;
  readonly children?: ComponentChildren;
}

export function Note({ title, tone = "ask", isAlert = false, children }: NoteProps) {
  return (
    <div class={`note ${tone}`} {...(isAlert && { role: "alert" })}>
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Problem({ title, children }: Pick<NoteProps, "title" | "children">) {
  return (
    <Note title={title} tone="bad" isAlert>
      <div>{children}</div>
    </Note>
  );
}

export function Wrong({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <p class="note bad" role="alert">
      {text}
    </p>
  );
}

interface ChipsProps<T> {
  readonly legend: string;
  readonly chips: readonly { readonly value: T; readonly text: string; readonly number?: number }[];
  readonly chosen: T;
  readonly onChoose: (value: T) => void;
}

export function Chips<T>({ legend, chips, chosen, onChoose }: ChipsProps<T>) {
  return (
    <fieldset class="chips">
      <legend class="unseen">{legend}</legend>
      {chips.map(({ value, text, number }) => (
        <button type="button" key={text} class="chip" aria-pressed={chosen === value} onClick={() => onChoose(value)}>
          {text} {number !== undefined && <span>{number}</span>}
        </button>
      ))}
    </fieldset>
  );
}

export function ShortList({ lines, most }: { readonly lines: readonly string[]; readonly most: number }) {
  return (
    <ul class="plain">
      {lines.slice(0, most).map((line) => (
        <li key={line}>{line}</li>
      ))}
      {lines.length > most && <li>and {lines.length - most} more</li>}
    </ul>
  );
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <circle cx="8" cy="16" r="4" />
      <circle cx="24" cy="8" r="4" />
      <circle cx="24" cy="24" r="4" />
      <path d="M12 15 20 10M12 17l8 5" />
    </svg>
  );
}

const parts = [
  ["done", "good"],
  ["active", "active"],
  ["failed", "bad"],
  ["skipped", "off"],
] as const;

export function otherCounts(counts: StepCounts): readonly string[] {
  const names = { active: "in progress", waiting: "waiting", failed: "failed", skipped: "skipped" } as const;
  const states = Object.entries(names) as [keyof typeof names, string][];
  return states.filter(([state]) => counts[state] > 0).map(([state, name]) => `${counts[state]} ${name}`);
}

export function StepBar({ counts }: { readonly counts: StepCounts }) {
  const text = [`${counts.done} of ${count(counts.total, "step")} done`, ...otherCounts(counts)].join(", ");
  return (
    <span class="stepbar" role="img" aria-label={text} title={text}>
      {parts.map(([name, tone]) => (
        <span key={name} class={tone} style={{ width: `${(100 * counts[name]) / Math.max(1, counts.total)}%` }} />
      ))}
    </span>
  );
}

interface TableProps {
  readonly caption?: string;
  /**
   * Columns of the table. A string is the heading of a text column, and `{ number }` that of a numeric column. Null is
   * a column of bars without a heading.
   */
  readonly columns: readonly (string | { readonly number: string } | null)[];
  readonly rest?: string | null;
  readonly children: ComponentChildren;
}

export function Table({ caption, columns, rest = null, children }: TableProps) {
  const head = (column: TableProps["columns"][number], at: number) => {
    if (column === null) return <td key={at} />;
    const [name, kind] = typeof column === "string" ? [column, undefined] : [column.number, "number"];
    return (
      <th key={at} scope="col" class={kind}>
        {name}
      </th>
    );
  };
  return (
    <div class="scroll">
      <table>
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>{columns.map(head)}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {rest !== null && <p class="quiet">{rest}</p>}
    </div>
  );
}

interface MeterProps {
  readonly label: string;
  readonly value: number;
  /** Reserved amount, drawn after `value`. */
  readonly soft?: number;
  readonly most: number;
}

export function Meter({ label, value, soft = 0, most }: MeterProps) {
  const share = (amount: number) => `${Math.min(100, (100 * amount) / Math.max(1, most))}%`;
  return (
    <span class="meter" role="img" aria-label={label}>
      <span class="solid" style={{ width: share(value) }} />
      <span class="soft" style={{ width: share(soft) }} />
    </span>
  );
}

interface FactProps {
  readonly name: string;
  readonly value?: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly hint?: string;
}

export function Fact({ name, value, children, hint }: FactProps) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>
        {value !== undefined && <b>{value}</b>}
        {children}
        {hint !== undefined && <small>{hint}</small>}
      </dd>
    </div>
  );
}

type IconName = keyof typeof icons;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}

const icons = {
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  fit: "M3 6V3h3M13 6V3h-3M3 10v3h3M13 10v3h-3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5 14 14",
  back: "M9.5 3.5 5 8l4.5 4.5",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6",
  auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  sound: "M3 6.5h2L8.5 4v8L5 9.5H3zM11 6a3 3 0 0 1 0 4M12.8 4.2a5.5 5.5 0 0 1 0 7.6",
  voice: "M8 2.5a2 2 0 0 0-2 2v3a2 2 0 0 0 4 0v-3a2 2 0 0 0-2-2M4 7.5a4 4 0 0 0 8 0M8 11.5v2.5",
  value: "M6 3.5c-2 0-1 4-3 4.5 2 .5 1 4.5 3 4.5M10 3.5c2 0 1 4 3 4.5-2 .5-1 4.5-3 4.5",
  upload: "M8 10.5V3M5 6l3-3 3 3M3 11v2h10v-2",
  approve: "M3 8.5 6.5 12 13 4.5",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  film: "M2.5 4h11v8h-11zM6.8 6.2v3.6L9.8 8z",
  image: "M2.5 3.5h11v9h-11zM2.5 10.5l3-3 3 3 2-2 3 3M10.5 6h.01",
  group: "M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z",
} as const;

export type Tone = "idle" | "active" | "good" | "ask" | "bad" | "off";

const runTones: Readonly<Record<string, Tone>> = {
  running: "active",
  paused: "ask",
  interrupted: "ask",
  succeeded: "good",
  partial: "ask",
  failed: "bad",
  cancelled: "off",
};

const phaseTones: Readonly<Record<StepPhase, Tone>> = {
  waiting: "idle",
  uploading: "active",
  pricing: "active",
  submitting: "active",
  queued: "active",
  rendering: "active",
  downloading: "active",
  asking: "active",
  working: "active",
  choosing: "active",
  planning: "active",
  approval: "ask",
  unresolved: "ask",
  succeeded: "good",
  partial: "ask",
  failed: "bad",
  skipped: "off",
  cancelled: "off",
};

const phaseWords: Partial<Readonly<Record<StepPhase, string>>> = {
  asking: "asking the model",
  approval: "needs your decision",
  succeeded: "done",
  unresolved: "outcome unknown",
};

export const phaseWord = (phase: StepPhase): string => phaseWords[phase] ?? phase;
export const runTone = (status: string): Tone => runTones[status] ?? "idle";
export const phaseTone = (phase: StepPhase): Tone => phaseTones[phase];

export function Dot({ tone }: { readonly tone: Tone }) {
  return <span class={`dot ${tone}`} aria-hidden="true" />;
}

export function Pill({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`pill ${tone}`}>
      <Dot tone={tone} />
      {children}
    </span>
  );
}
