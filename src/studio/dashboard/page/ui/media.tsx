import { useEffect, useRef, useState } from "preact/hooks";
import { formatDuration } from "../../../../core/kit/duration.ts";
import { formatBytes } from "../../../../core/kit/value-text.ts";
import type { PageMedia } from "../../views/document.ts";
import { Icon } from "./bits.tsx";

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

function Still({
  url,
  label,
  onBroken,
}: {
  readonly url: string;
  readonly label: string;
  readonly onBroken: () => void;
}) {
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

export function Blank({ kind }: { readonly kind: string }) {
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
  const player = useRef<HTMLVideoElement & HTMLAudioElement>(null);
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
        <video
          ref={player}
          src={media.url}
          controls
          preload="metadata"
          playsInline
          aria-label={label}
          onError={broken}
        />
      )}
      {media.kind === "audio" && (
        // biome-ignore lint/a11y/useMediaCaption: generated media come without captions
        <audio ref={player} src={media.url} controls preload="metadata" aria-label={label} onError={broken} />
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
