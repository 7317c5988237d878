import { useEffect, useRef, useState } from "preact/hooks";
import type { PageMedia } from "../../views/document.ts";
import { Icon } from "./bits.tsx";
import { facts, Player } from "./media.tsx";

interface LightboxProps {
  readonly media: readonly PageMedia[];
  readonly start: number;
  readonly labelOf: (media: PageMedia) => string;
  readonly onClose: () => void;
}

function Lightbox({ media, start, labelOf, onClose }: LightboxProps) {
  const [index, setIndex] = useState(start);
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  const shown = media[Math.min(index, media.length - 1)]!;
  const move = (by: number) => setIndex((index + by + media.length) % media.length);
  const pressed = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const isPlaying = (event.target as HTMLElement).matches("video, audio");
    if (by === undefined || isPlaying || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    move(by);
  };
  const label = labelOf(shown);
  return (
    <dialog ref={ref} class="lightbox" aria-label={label} onClose={onClose} onKeyDown={pressed}>
      <header>
        <h2>{label}</h2>
        {media.length > 1 && (
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
        )}
        <button type="button" class="button quiet square push" aria-label="Close" onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      <ul class="stage">
        <li key={`${shown.step} ${shown.index}`}>
          <Player media={shown} label={label} />
        </li>
      </ul>
      <footer>
        <span class="quiet">{facts(shown)}</span>
        {shown.url !== null && (
          <a class="button small push" href={shown.url} target="_blank" rel="noreferrer">
            Open the file
          </a>
        )}
      </footer>
    </dialog>
  );
}

export function useLightbox(media: readonly PageMedia[], labelOf: LightboxProps["labelOf"]) {
  const [start, open] = useState<number | null>(null);
  const lightbox =
    start === null ? null : <Lightbox media={media} start={start} labelOf={labelOf} onClose={() => open(null)} />;
  return [open, lightbox] as const;
}
