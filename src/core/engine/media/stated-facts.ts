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
  const type = plainType(stated.contentType);
  if (type !== null && isOtherKind(type, plainType(measured.contentType)!)) {
    return `its bytes are ${measured.contentType}, not ${type}`;
  }
  if (isFarSmaller(stated, measured)) {
    return `it is ${measured.width} × ${measured.height} pixels, not ${stated.width} × ${stated.height}`;
  }
  const { durationMs } = measured;
  if (durationMs === null || stated.durationMs === null) return null;
  return durationMs < shortest(stated.durationMs) ? `it lasts ${durationMs} ms, not ${stated.durationMs}` : null;
}

/**
 * What shows that bytes of no known format are not what was stated: any text in place of pictures or sound, and any bytes in place
 * of a format that is known.
 */
export function unknownInPlaceOf(statedType: string | null, text: TextForm | null): string | null {
  const stated = plainType(statedType);
  if (stated === null || !MEDIA.test(stated) || stated === "image/svg+xml") {
    const isPage = text === "an HTML page" && !/html|^text\/plain$/.test(stated ?? "");
    return isPage ? `it is ${text}, not ${stated ?? "media"}` : null;
  }
  if (text !== null) return `it is ${text}, not ${stated}`;
  return KNOWN.test(stated) ? `its bytes are of no known format, not ${stated}` : null;
}

export type TextForm = "an HTML page" | "XML" | "JSON" | "plain text";

const MEDIA = /^(image|video|audio)\//;
/** Types of which every file shows what it is. Samples without a header are of none. */
const KNOWN = new RegExp(
  "^(?:image/(?:png|apng|jpe?g|gif|webp|avif|hei[cf]|bmp|tiff)|video/(?:mp4|quicktime|x-m4v|webm|(?:x-)?matroska|ogg)|" +
    "audio/(?:mp4|(?:x-)?m4a|mpeg|mp3|(?:x-|vnd\\.)?wave?|webm|ogg|opus|aac|(?:x-)?flac))$",
);
/** Containers of films, which may hold sound alone; and the other way round. */
const EITHER = /\/(?:mp4|quicktime|x-m4[av]|m4a|webm|(?:x-)?matroska|ogg)$/;

function plainType(type: string | null): string | null {
  return type?.replace(/;.*/, "").trim().toLowerCase() ?? null;
}

/** A document, a picture in place of something that takes time, sound in place of pictures. */
function isOtherKind(stated: string, found: string): boolean {
  const [kind, foundKind] = [stated, found].map((type) => MEDIA.exec(type)?.[1] ?? null);
  if (kind == null || stated === "image/svg+xml" || MOVING.test(found)) return false;
  // Some containers have more types than people have agreed on.
  if (foundKind == null) return KNOWN.test(stated) && !/^application\/(?:ogg|mxf|vnd\.ms-asf)$/.test(found);
  if (kind === "image" || foundKind === "image") return kind !== foundKind;
  return kind === "video" && foundKind === "audio" && !EITHER.test(found);
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
