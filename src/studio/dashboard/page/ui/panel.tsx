import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton, Wrong } from "./bits.tsx";

/** Fields below this depth are shown as JSON. */
const DEEPEST = 4;

export function Data({ value }: { readonly value: unknown }) {
  const fields = fieldsOf(value);
  return fields === null ? <pre>{text(value)}</pre> : <Fields of={fields} depth={1} />;
}

function Fields({ of, depth }: { readonly of: readonly (readonly [string, unknown])[]; readonly depth: number }) {
  return (
    <dl class="data">
      {of.map(([name, item]) => {
        const inner = depth < DEEPEST ? fieldsOf(item) : null;
        return (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{inner === null ? text(item) : <Fields of={inner} depth={depth + 1} />}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function fieldsOf(value: unknown): readonly (readonly [string, unknown])[] | null {
  if (typeof value !== "object" || value === null || "$ref" in value) return null;
  if (!Array.isArray(value)) return Object.entries(value);
  const isOfFields = value.some((item) => typeof item === "object" && item !== null);
  return isOfFields ? value.map((item, index) => [String(index + 1), item]) : null;
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  const ref = (value as { readonly $ref?: { readonly step?: unknown } } | null)?.$ref;
  if (ref?.step !== undefined) return `→ ${String(ref.step)}`;
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join("\n");
  return JSON.stringify(value, null, 2);
}

interface Props {
  readonly title: string;
  readonly note?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A panel that takes the focus, and returns it when closed. */
export function Panel({ title, note, onClose, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    const restore = coverRest();
    heading.current?.focus({ preventScroll: true });
    return () => {
      restore();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  return (
    <aside class="panel" aria-label={title}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        {note !== undefined && <span class="quiet">{note}</span>}
        <IconButton label="Close" icon="close" look="quiet" onClick={onClose} />
      </header>
      <div class="inside">{children}</div>
    </aside>
  );
}

function coverRest(): () => void {
  if (!matchMedia("(max-width: 760px)").matches) return () => {};
  const covered = [...document.querySelectorAll<HTMLElement>(".top, .run-head, .tabs, .view")];
  for (const element of covered) element.inert = true;
  return () => {
    for (const element of covered) element.inert = false;
  };
}

interface DialogProps {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly ready?: boolean;
  /** Called when the person confirms. If the promise rejects, the dialog stays open and shows the error. */
  readonly onAction: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, action, danger = false, ready = true, onAction, onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const opener = document.activeElement;
    ref.current?.showModal();
    return () => opener instanceof HTMLElement && opener.focus();
  }, []);
  const perform = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onAction();
      onClose();
    } catch (failure) {
      setError((failure as Error).message);
      setBusy(false);
    }
  };
  return (
    <dialog ref={ref} class="dialog" aria-labelledby="dialog-title" onClose={onClose}>
      <form onSubmit={perform}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        <Wrong text={error} />
        <div class="actions">
          <Button label="Cancel" onClick={onClose} />
          <Button
            type="submit"
            label={isBusy ? "One moment…" : action}
            look={danger ? "danger" : "primary"}
            disabled={isBusy || !ready}
          />
        </div>
      </form>
    </dialog>
  );
}
