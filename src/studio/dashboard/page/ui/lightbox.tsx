import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MediaView } from "../../views/document.ts";
import { Icon } from "./bits.tsx";
import { facts, Player } from "./media.tsx";

interface SheetProps {
  readonly title: string;
  /** By the name of the key; not while somebody types. */
  readonly keys: Readonly<Record<string, () => void>>;
  readonly onClose: () => void;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Something that takes the whole window for a while; Escape closes it, and the focus goes back. */
export function Sheet({ title, keys, onClose, aside, footer, children }: SheetProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  const pressed = (event: KeyboardEvent) => {
    const at = event.target as HTMLElement;
    const isTyping = at.matches("textarea, input:not([type=radio], [type=checkbox])");
    const isPlaying = at.matches("video, audio") && event.key.startsWith("Arrow");
    const act = keys[event.key];
    if (act === undefined || isTyping || isPlaying || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  return (
    <dialog ref={ref} class="lightbox" aria-label={title} onClose={onClose} onKeyDown={pressed}>
      <header>
        <h2>{title}</h2>
        {aside}
        <button type="button" class="button quiet square push" aria-label="Close" onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {children}
      <footer>{footer}</footer>
    </dialog>
  );
}

interface LightboxProps {
  readonly media: readonly MediaView[];
  /** The one that is shown first. */
  readonly start: number;
  readonly labelOf: (media: MediaView) => string;
  readonly onClose: () => void;
}

/** Results one by one, as large as the window; arrows show the next. */
export function Lightbox({ media, start, labelOf, onClose }: LightboxProps) {
  const [index, setIndex] = useState(start);
  const shown = media[Math.min(index, media.length - 1)]!;
  const move = (by: number) => setIndex((index + by + media.length) % media.length);
  const label = labelOf(shown);
  return (
    <Sheet
      title={label}
      keys={{ ArrowRight: () => move(1), ArrowLeft: () => move(-1) }}
      onClose={onClose}
      aside={
        media.length > 1 && (
          <>
            <span class="quiet">
              {index + 1} of {media.length}
            </span>
            <button type="button" class="button small" aria-keyshortcuts="ArrowLeft" onClick={() => move(-1)}>
              Previous
            </button>
            <button type="button" class="button small" aria-keyshortcuts="ArrowRight" onClick={() => move(1)}>
              Next
            </button>
          </>
        )
      }
      footer={
        <>
          <span class="quiet">{facts(shown)}</span>
          {shown.url !== null && (
            <a class="button small push" href={shown.url} target="_blank" rel="noreferrer">
              Open the file
            </a>
          )}
        </>
      }
    >
      <ul class="stage">
        <li key={`${shown.step} ${shown.index}`}>
          <Player media={shown} label={label} />
        </li>
      </ul>
    </Sheet>
  );
}
