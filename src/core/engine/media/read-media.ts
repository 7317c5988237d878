import { isUtf8 } from "node:buffer";
import { extname } from "node:path";
import type { FileKind } from "../../plan/plan.ts";
import type { Answered, Question, StatedFacts } from "./media-reader.ts";
import { contradiction, type TextForm, unknownInPlaceOf } from "./stated-facts.ts";
import { Bytes } from "./whole/bytes.ts";
import { missingEnd } from "./whole/missing-end.ts";
import { soundFramesIn } from "./whole/whole-frames.ts";

/** The size of a picture comes within so much of its file, after colour profiles and previews. */
const HEAD_BYTES = 4 * 1024 * 1024;

const NONE = { width: null, height: null, durationMs: null, fps: null } as const;

type Facts = Answered<"facts">;

/** Loads the libraries that a question takes. */
export async function load(name: Question["name"]): Promise<void> {
  await import("file-type");
  if (name !== "type") await Promise.all([import("image-size"), import("./read-timed.ts")]);
}

/** Runs in a thread of its own: the libraries may not come to an end with what somebody made to stop them. */
export async function answerTo(question: Question): Promise<Answered> {
  const { path } = question;
  switch (question.name) {
    case "type":
      return { is: (await typeOf(path)) ?? null };
    case "facts":
      return factsOf(path, question.kind);
    case "damage":
      return { is: await damageOf(path, question.stated) };
    default:
      return question satisfies never;
  }
}

/** Undefined also for bytes that begin like a format and continue like none. */
async function typeOf(path: string): Promise<string | undefined> {
  const { fileTypeFromFile } = await import("file-type");
  return (await fileTypeFromFile(path).catch(() => undefined))?.mime;
}

async function factsOf(path: string, kind: FileKind): Promise<Facts> {
  if (kind === "text") return textFacts(path);
  const contentType = await typeOf(path);
  if (contentType === undefined) return { fault: "its bytes are of no known media format" };
  const isKind = kind === "image" ? /^image\// : /^(?:video|audio)\//;
  if (!isKind.test(contentType)) return { fault: `it holds ${contentType}, which is no ${kind}` };
  const lacks = missingEnd(path, contentType);
  if (lacks !== null) return { fault: `it holds ${contentType} that is cut short: ${lacks} is missing` };
  try {
    return kind === "image" ? await imageFacts(path, contentType) : await timedFacts(path, kind, contentType);
  } catch (error) {
    return { fault: `it holds ${contentType} that cannot be read (${describedBy(error)})` };
  }
}

/** A file of text may be so large, bytes. */
const TEXT_BYTES = 16 * 1024 * 1024;

function textFacts(path: string): Facts {
  using file = new Bytes(path);
  const bytes = file.head(TEXT_BYTES);
  if (!isUtf8(bytes) || bytes.includes(0)) return { fault: "its bytes are no UTF-8" };
  return { is: { ...NONE, contentType: TEXT_TYPES[extname(path).toLowerCase()] ?? "text/plain" } };
}

const TEXT_TYPES: Readonly<Record<string, string>> = { ".srt": "application/x-subrip", ".vtt": "text/vtt" };

async function imageFacts(path: string, contentType: string): Promise<Facts> {
  const { imageSize } = await import("image-size");
  using file = new Bytes(path);
  const { width, height, orientation = 1 } = imageSize(file.head(HEAD_BYTES));
  if (width === 0 || height === 0) return { fault: `it holds ${contentType} without a size` };
  // From 5 on, EXIF turns the picture on its side.
  return { is: { ...NONE, contentType, ...(orientation < 5 ? { width, height } : { width: height, height: width }) } };
}

async function timedFacts(path: string, kind: "audio" | "video", contentType: string): Promise<Facts> {
  const { readTimed } = await import("./read-timed.ts");
  const { picture, durationMs } = await readTimed(path, contentType);
  if (kind === "audio") {
    if (picture !== null) return { fault: "it holds moving pictures, not only sound" };
    // Containers of films say so even when there is only sound in them.
    return { is: { ...NONE, contentType: contentType.replace(/^video\//, "audio/"), durationMs } };
  }
  if (picture === null) return { fault: `it holds ${contentType} without moving pictures` };
  return { is: { contentType, durationMs, ...picture } };
}

/** What shows that a file is not, or not all of, what the service says that it made. */
async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  using file = new Bytes(path);
  if (file.size === 0) return "it is empty";
  const contentType = (await typeOf(path)) ?? soundFramesIn(file);
  if (contentType === undefined || contentType === "application/xml")
    return unknownInPlaceOf(stated.contentType, textIn(file));
  const lacks = missingEnd(path, contentType);
  if (lacks !== null) return `${lacks} is missing`;
  // Whether a library can read it says nothing of whether it is whole.
  const measured = await sizeAndDuration(path, contentType, stated).catch(() => NONE);
  return contradiction(stated, { ...measured, contentType });
}

/** What a text begins like; null for bytes that are no text. */
function textIn(file: Bytes): TextForm | null {
  // A letter may be cut where the window ends.
  const text = new TextDecoder().decode(file.head(4096), { stream: true }).trimStart();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a text has not
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
