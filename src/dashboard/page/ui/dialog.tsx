import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  readonly title: string;
  /** What the button that does it says. */
  readonly action: string;
  readonly danger?: boolean;
  /** False keeps the button from being pressed. */
  readonly ready?: boolean;
  /** Does it; what it throws is shown, and the dialog stays. */
  readonly onAction: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Asks before something is done, and says what became of it. */
export function Dialog({ title, action, danger = false, ready = true, onAction, onClose, children }: Props) {
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
        {error !== null && (
          <p class="note bad" role="alert">
            {error}
          </p>
        )}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={danger ? "button danger" : "button primary"} disabled={isBusy || !ready}>
            {isBusy ? "One moment…" : action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
