import type { MediaFacts, StatedFacts } from "./media-reader.ts";

/** Pictures that move. */
const MOVING = /^image\/(?:gif|apng|webp|avif)$/;
/** Durations are rounded, whole seconds in either direction; coders of sound add and take some frames. */
const TOLERANCE = { ofWholeSecondsMs: 1_000, ms: 250, share: 0.1 } as const;

type Measured = Omit<MediaFacts, "fps">;

/**
 * What a file's bytes say against what the service says of it; null where they agree as far as both say something. Services
 * state what was asked for as often as what was made: another format of the same kind, a picture down to half as wide
 * and high, and durations within a tenth (a second where whole seconds are stated, else at least 250 ms) count as the same.
 */
export function contradiction(stated: StatedFacts, measured: Measured): string | null {
  const type = stated.contentType?.replace(/;.*/, "").trim().toLowerCase() ?? null;
  if (type !== null && isOtherKind(type, measured.contentType)) {
    return `its bytes are ${measured.contentType}, not ${type}`;
  }
  if (isFarSmaller(stated, measured)) {
    return `it is ${measured.width} × ${measured.height} pixels, not ${stated.width} × ${stated.height}`;
  }
  const { durationMs } = measured;
  if (durationMs === null || stated.durationMs === null) return null;
  return durationMs < shortest(stated.durationMs) ? `it lasts ${durationMs} ms, not ${stated.durationMs}` : null;
}

/** A picture in place of something that takes time, or the other way round. */
function isOtherKind(stated: string, found: string): boolean {
  const [kind, foundKind] = [stated, found].map((type) => /^(image|video|audio)\//.exec(type)?.[1] ?? null);
  if (kind == null || foundKind == null || MOVING.test(found)) return false;
  return (kind === "image") !== (foundKind === "image");
}

/** Whichever way it is turned. */
function isFarSmaller({ width, height }: StatedFacts, measured: Measured): boolean {
  if (width === null || height === null || measured.width === null || measured.height === null) return false;
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  return Math.max(measured.width, measured.height) < long / 2 && Math.min(measured.width, measured.height) < short / 2;
}

function shortest(statedMs: number): number {
  const { ofWholeSecondsMs, ms, share } = TOLERANCE;
  const least = statedMs % 1000 === 0 ? ofWholeSecondsMs : ms;
  return statedMs - Math.max(least, statedMs * share);
}
