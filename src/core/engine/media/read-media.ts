import { isUtf8 } from "node:buffer";
import { extname } from "node:path";
import { exifOrientation } from "../../kit/media-headers.ts";
import type { FileKind } from "../../plan/plan.ts";
import type { Answered, MediaFacts, Question, StatedFacts } from "./media-reader.ts";
import { Bytes, missingEnd, soundFramesIn } from "./whole.ts";

/**
 * Number of bytes to read from the beginning of an image. It is this large because color profiles and previews may come
 * before the dimensions.
 */
const HEAD_BYTES = 4 * 1024 * 1024;

const NONE = { width: null, height: null, durationMs: null, fps: null } as const;

type Facts = Answered<"facts">;

export async function load(): Promise<void> {
  await Promise.all([import("file-type"), import("image-size"), import("./read-timed.ts")]);
}

/**
 * Answers a question about a media file. Call this only on a worker thread, because crafted files can make the
 * libraries hang.
 */
export async function answerTo(question: Question): Promise<Answered> {
  const { path } = question;
  switch (question.name) {
    case "facts":
      return question.kind === null ? anyFacts(path) : factsOf(path, question.kind);
    case "damage":
      return { is: await damageOf(path, question.stated) };
    default:
      return question satisfies never;
  }
}

async function typeOf(path: string): Promise<string | undefined> {
  const { fileTypeFromFile } = await import("file-type");
  return (await fileTypeFromFile(path).catch(() => undefined))?.mime;
}

async function anyFacts(path: string): Promise<Facts> {
  const contentType = (await typeOf(path)) ?? "application/octet-stream";
  // A video container may contain only audio.
  const kinds = { image: ["image"], audio: ["audio"], video: ["video", "audio"] } as const;
  for (const kind of kinds[contentType.split("/")[0] as keyof typeof kinds] ?? []) {
    const found = await factsOf(path, kind);
    if ("is" in found || found.isEmpty) return found;
  }
  return { is: { ...NONE, contentType } };
}

async function factsOf(path: string, kind: FileKind): Promise<Facts> {
  if (kind === "text") return textFacts(path);
  const contentType = await typeOf(path);
  if (contentType === undefined) return { fault: "it is not in a recognized media format" };
  const isKind = kind === "image" ? /^image\// : /^(?:video|audio)\//;
  if (!isKind.test(contentType)) return { fault: `it is ${contentType}` };
  const lacks = missingEnd(path, contentType);
  if (lacks !== null) return { fault: `it is truncated (${contentType}): ${lacks} is missing` };
  try {
    return kind === "image" ? await imageFacts(path, contentType) : await timedFacts(path, kind, contentType);
  } catch (error) {
    return { fault: `it cannot be read as ${contentType} (${describedBy(error)})` };
  }
}

const TEXT_BYTES = 16 * 1024 * 1024;

function textFacts(path: string): Facts {
  using file = new Bytes(path);
  const bytes = file.head(TEXT_BYTES);
  if (!isUtf8(bytes) || bytes.includes(0)) return { fault: "its bytes are not UTF-8" };
  return { is: { ...NONE, contentType: TEXT_TYPES[extname(path).toLowerCase()] ?? "text/plain" } };
}

const TEXT_TYPES: Readonly<Record<string, string>> = { ".srt": "application/x-subrip", ".vtt": "text/vtt" };

async function imageFacts(path: string, contentType: string): Promise<Facts> {
  const { imageSize } = await import("image-size");
  using file = new Bytes(path);
  const head = file.head(HEAD_BYTES);
  const { width, height } = imageSize(head);
  if (width === 0 || height === 0) return { fault: `it contains no pixels (${contentType})`, isEmpty: true };
  const isAside = exifOrientation(head) >= 5;
  return { is: { ...NONE, contentType, ...(isAside ? { width: height, height: width } : { width, height }) } };
}

async function timedFacts(path: string, kind: "audio" | "video", contentType: string): Promise<Facts> {
  const { readTimed } = await import("./read-timed.ts");
  const { picture, durationMs } = await readTimed(path, contentType);
  if (kind === "audio") {
    if (picture !== null) return { fault: "it contains video, not only audio" };
    const lacks = contentType.startsWith("video/") ? "video or audio" : "audio";
    if (durationMs === 0) return { fault: `it contains no ${lacks} (${contentType}, 0 ms)`, isEmpty: true };
    // Some containers have a video type even if they contain only audio.
    return { is: { ...NONE, contentType: contentType.replace(/^video\//, "audio/"), durationMs } };
  }
  if (picture === null) return { fault: `it contains no video (${contentType})` };
  if (durationMs === 0) return { fault: `it contains no frames (${contentType}, 0 ms)`, isEmpty: true };
  return { is: { contentType, durationMs, ...picture } };
}

async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  using file = new Bytes(path);
  if (file.size === 0) return "it is empty";
  const contentType = (await typeOf(path)) ?? soundFramesIn(file);
  if (contentType === undefined || contentType === "application/xml")
    return unknownInPlaceOf(stated.contentType, textIn(file));
  const lacks = missingEnd(path, contentType);
  if (lacks !== null) return `${lacks} is missing`;
  // A complete file may still be unreadable for a library, so a failure proves nothing.
  const measured = await sizeAndDuration(path, contentType, stated).catch(() => NONE);
  return contradiction(stated, { ...measured, contentType });
}

function textIn(file: Bytes): TextForm | null {
  // The bytes read may end inside a character.
  const text = new TextDecoder().decode(file.head(4096), { stream: true }).trimStart();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: text does not contain them
  if (/[\u0000-\u0008\u000e-\u001a\u001c-\u001f\ufffd]/.test(text)) return null;
  if (/^<(?:!doctype\s+html|html|head|body)\b/i.test(text)) return "an HTML page";
  if (text.startsWith("<")) return "XML";
  return /^[{[]/.test(text) ? "JSON" : "plain text";
}

async function sizeAndDuration(path: string, contentType: string, stated: StatedFacts) {
  if (contentType.startsWith("image/")) {
    const facts = stated.width === null ? null : await imageFacts(path, contentType);
    return facts !== null && "is" in facts ? facts.is : NONE;
  }
  const { readTimed } = await import("./read-timed.ts");
  const { picture, durationMs } = await readTimed(path, contentType);
  return { ...NONE, ...picture, durationMs };
}

function describedBy(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const MOVING = /^image\/(?:gif|apng|webp|avif)$/;
/** Tolerance for durations, which the service may round to seconds and audio encoders may change slightly. */
const TOLERANCE = { ofWholeSecondsMs: 1_000, ms: 250, share: 0.1 } as const;

type Measured = Omit<MediaFacts, "fps">;

/**
 * Returns how a file contradicts the stated facts; null if it does not. Services often report the requested values
 * instead of the actual ones, so small differences are accepted.
 */
function contradiction(stated: StatedFacts, measured: Measured): string | null {
  const type = plainType(stated.contentType);
  if (type !== null && isOtherKind(type, plainType(measured.contentType)!)) {
    return `it is ${measured.contentType}, not ${type}`;
  }
  if (isFarSmaller(stated, measured)) {
    return `it is ${measured.width} × ${measured.height} pixels, not ${stated.width} × ${stated.height}`;
  }
  const { durationMs } = measured;
  if (durationMs === null || stated.durationMs === null) return null;
  return durationMs < shortest(stated.durationMs) ? `it lasts ${durationMs} ms, not ${stated.durationMs} ms` : null;
}

function unknownInPlaceOf(statedType: string | null, text: TextForm | null): string | null {
  const stated = plainType(statedType);
  if (stated === null || !MEDIA.test(stated) || stated === "image/svg+xml") {
    const isPage = text === "an HTML page" && !/html|^text\/plain$/.test(stated ?? "");
    return isPage ? `it is ${text}, not ${stated ?? "media"}` : null;
  }
  if (text !== null) return `it is ${text}, not ${stated}`;
  return KNOWN.test(stated) ? `its format is not recognized; expected ${stated}` : null;
}

type TextForm = "an HTML page" | "XML" | "JSON" | "plain text";

const MEDIA = /^(image|video|audio)\//;
/** Content types that are always recognized from a file's bytes. */
const KNOWN = new RegExp(
  "^(?:image/(?:png|apng|jpe?g|gif|webp|avif|hei[cf]|bmp|tiff)|video/(?:mp4|quicktime|x-m4v|webm|(?:x-)?matroska|ogg)|" +
    "audio/(?:mp4|(?:x-)?m4a|mpeg|mp3|(?:x-|vnd\\.)?wave?|webm|ogg|opus|aac|(?:x-)?flac))$",
);
const EITHER = /\/(?:mp4|quicktime|x-m4[av]|m4a|webm|(?:x-)?matroska|ogg)$/;

function plainType(type: string | null): string | null {
  return type?.replace(/;.*/, "").trim().toLowerCase() ?? null;
}

function isOtherKind(stated: string, found: string): boolean {
  const [kind, foundKind] = [stated, found].map((type) => MEDIA.exec(type)?.[1] ?? null);
  if (kind == null || stated === "image/svg+xml" || MOVING.test(found)) return false;
  // Some containers have several types.
  if (foundKind == null) return KNOWN.test(stated) && !/^application\/(?:ogg|mxf|vnd\.ms-asf)$/.test(found);
  if (kind === "image" || foundKind === "image") return kind !== foundKind;
  return kind === "video" && foundKind === "audio" && !EITHER.test(found);
}

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
