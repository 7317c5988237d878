import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

const NEAR_S = 0.1;

/** Plays videos in sync, with the sound of only one of them. Plays audio files one at a time. */
export function usePlayersTogether(stage: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const root = stage.current;
    if (root === null) return;
    const followed = (event: Event) => {
      const one = event.target;
      if (!(one instanceof HTMLMediaElement)) return;
      const isFilm = one instanceof HTMLVideoElement;
      for (const other of playersIn(root)) {
        if (other === one) continue;
        if (isFilm && other instanceof HTMLVideoElement) follow(one, other, event.type);
        else if (event.type === "play" && !other.muted) other.pause();
      }
    };
    const events = ["play", "pause", "seeking", "ratechange"];
    // Media events do not bubble, so the root captures them.
    for (const name of events) root.addEventListener(name, followed, true);
    return () => {
      for (const name of events) root.removeEventListener(name, followed, true);
    };
  }, []);
}

/** Makes `other` follow `one`. Sets only what differs, because each change triggers further events. */
function follow(one: HTMLVideoElement, other: HTMLVideoElement, what: string): void {
  other.playbackRate = one.playbackRate;
  if (what === "play" && other.paused && !other.ended) {
    other.currentTime = one.currentTime;
    other.muted = true;
    void other.play().catch(() => {});
  }
  if (what === "pause" && !one.ended && !other.paused) other.pause();
  // A shorter video that has ended does not move the others to its end.
  const isAtEnd = one.currentTime >= one.duration - NEAR_S;
  if (what === "seeking" && !isAtEnd && Math.abs(other.currentTime - one.currentTime) > NEAR_S) {
    other.currentTime = Math.min(one.currentTime, other.duration || one.currentTime);
  }
}

export function playersIn(root: ParentNode): readonly HTMLMediaElement[] {
  return [...root.querySelectorAll<HTMLMediaElement>("video, audio")];
}

export function playOrPause(root: ParentNode): void {
  const all = playersIn(root);
  const playing = all.filter(({ paused }) => !paused);
  for (const one of playing) one.pause();
  if (playing.length === 0) void all[0]?.play().catch(() => {});
}

export function timeAt(item: Element | undefined): number | null {
  const player = item?.querySelector<HTMLMediaElement>("video, audio");
  return player == null || player.currentTime === 0 ? null : Math.round(player.currentTime * 1000);
}
