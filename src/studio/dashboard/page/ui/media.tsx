import { useEffect, useRef, useState } from "preact/hooks";
import { formatDuration } from "../../../../core/kit/duration.ts";
import { formatBytes } from "../../../../core/kit/value-text.ts";
import type { PageMedia, RefusedMedia } from "../../views/document.ts";
import { Button, Icon, IconButton, StepLink } from "./bits.tsx";

interface ThumbProps {
  readonly media: PageMedia;
  readonly label: string;
  readonly at?: number;
}

export function Thumb({ media, label, at = 0.1 }: ThumbProps) {
  const [isBroken, setBroken] = useState(false);
  useEffect(() => setBroken(false), [media.url]);
  if (media.url === null || isBroken) return <Blank kind={media.kind} />;
  const broken = () => setBroken(true);
  if (media.kind === "image") {
    return <img class="thumb" src={media.url} alt={label} loading="lazy" decoding="async" onError={broken} />;
  }
  if (media.kind !== "video") return <Blank kind={media.kind} />;
  return <Still url={`${media.url}#t=${at}`} label={label} onBroken={broken} />;
}

interface StillProps {
  readonly url: string;
  readonly label: string;
  readonly onBroken: () => void;
}

function Still({ url, label, onBroken }: StillProps) {
  const ref = useRef<HTMLVideoElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setNear(true), {
      rootMargin: "200px",
    });
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <video
      ref={ref}
      class="thumb"
      {...(isNear && { src: url })}
      preload="metadata"
      muted
      playsInline
      tabIndex={-1}
      aria-label={label}
      onError={onBroken}
    />
  );
}

function Blank({ kind }: { readonly kind: string }) {
  const icon = kind === "audio" ? "sound" : kind === "video" ? "film" : kind === "image" ? "image" : "file";
  return (
    <span class="thumb blank">
      <Icon name={icon} />
    </span>
  );
}

interface PlayerProps {
  readonly media: PageMedia;
  readonly label: string;
  readonly onEnlarge?: (() => void) | undefined;
}

export function Player({ media, label, onEnlarge }: PlayerProps) {
  const [isBroken, setBroken] = useState(false);
  useEffect(() => setBroken(false), [media.url]);
  if (media.url === null) return <p class="quiet">{missing(media)}</p>;
  const broken = () => setBroken(true);
  if (isBroken) {
    return (
      <p class="note bad">This file cannot be shown. It was moved, or this browser does not support its format.</p>
    );
  }
  return (
    <figure class="player">
      {media.kind === "image" &&
        (onEnlarge === undefined ? (
          <a href={media.url} target="_blank" rel="noreferrer" aria-label={`${label}, open at full size`}>
            <img src={media.url} alt={label} onError={broken} />
          </a>
        ) : (
          <button type="button" onClick={onEnlarge} aria-label={`${label}, enlarge`}>
            <img src={media.url} alt={label} onError={broken} />
          </button>
        ))}
      {media.kind === "video" && (
        // biome-ignore lint/a11y/useMediaCaption: generated media come without captions
        <video src={media.url} controls preload="metadata" playsInline aria-label={label} onError={broken} />
      )}
      {media.kind === "audio" && (
        // biome-ignore lint/a11y/useMediaCaption: generated media come without captions
        <audio src={media.url} controls preload="metadata" aria-label={label} onError={broken} />
      )}
      {media.kind === "other" && (
        <a class="button" href={media.url} download>
          Save this file
        </a>
      )}
      <figcaption>{facts(media)}</figcaption>
    </figure>
  );
}

export function facts(media: PageMedia): string {
  return [
    media.width !== null && media.height !== null && `${media.width} × ${media.height}`,
    media.durationMs !== null && formatDuration(media.durationMs),
    media.fps !== null && `${Math.round(media.fps * 100) / 100} frames per second`,
    media.contentType,
    media.sizeBytes !== null && formatBytes(media.sizeBytes),
    media.file,
  ]
    .filter(Boolean)
    .join(" · ");
}

function missing(media: PageMedia): string {
  if (media.error !== null) return media.error;
  if (media.state === "expired") return "The service no longer has this output, and there is no local copy.";
  if (media.state === "failed") return "This output could not be generated; the other outputs were kept.";
  return "Not downloaded yet.";
}

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
            <Button label="Previous" look="small" aria-keyshortcuts="ArrowLeft" onClick={() => move(-1)} />
            <Button label="Next" look="small" aria-keyshortcuts="ArrowRight" onClick={() => move(1)} />
          </>
        )}
        <IconButton label="Close" icon="close" look="quiet push" onClick={() => ref.current?.close()} />
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

const STRETCH = /from ([\d.]+) s to ([\d.]+) s/g;
const MOST_FRAMES = 6;

interface RefusedProps {
  readonly refused: readonly RefusedMedia[];
  readonly onOpen?: (step: string) => void;
}

export function Refused({ refused, onOpen }: RefusedProps) {
  return (
    <>
      {refused.map(({ step, reason, shows }) => (
        <section class="note bad" key={step} aria-label={`Refused by ${step}`}>
          <strong>Refused by {onOpen === undefined ? step : <StepLink step={step} onOpen={onOpen} />}</strong>
          <ul>
            {reason.split("; ").map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
          <ol class="used">
            {shows.flatMap((media) =>
              timesOf(media, reason).map((at) => (
                <li key={`${media.step} ${media.index} ${at}`}>
                  <Thumb media={media} at={at} label={frameLabel(media, at)} />
                </li>
              )),
            )}
          </ol>
        </section>
      ))}
    </>
  );
}

function frameLabel({ step, index, kind }: PageMedia, at: number): string {
  if (kind === "video") return `${step} at ${Math.round(at * 10) / 10} s`;
  return typeof index === "number" && index > 0 ? `${step}, ${index + 1}` : step;
}

/**
 * Returns the times, in seconds, of the frames to show next to `reason`: the middle of each time range that the text of
 * `reason` mentions.
 */
function timesOf({ kind }: PageMedia, reason: string): readonly number[] {
  if (kind !== "video") return [0];
  const stretches = [...reason.matchAll(STRETCH)].map(([, from, to]) => (Number(from) + Number(to)) / 2);
  return stretches.length === 0 ? [0.1] : [...new Set(stretches)].slice(0, MOST_FRAMES);
}
