import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import { type BodyBounds, badRequest, bodyOfRequest, passBytes, Refusal, readJson, tooLarge } from "../served/index.ts";
import type { Call } from "./options.ts";

type Body = Readonly<Record<string, unknown>>;

/** Maximum size of a body without files, and of a form field. */
export const MOST_JSON_BYTES = 1024 * 1024;
const MOST_PARTS = 120;
const SLICE_BYTES = 64 * 1024;

export function jsonBody({ request, hold }: Pick<Call, "request" | "hold">): Promise<Body> {
  return readJson(bodyOfRequest(request), { ...boundsOf(MOST_JSON_BYTES), onPiece: hold });
}

export function boundsOf(mostBytes: number): BodyBounds {
  return { mostBytes, instead: "pass large files by URL" };
}

interface FormReader {
  readonly mostBytes: number;
  onPiece(sizeBytes: number): void;
  onField(name: string, value: string): void;
  onFile(part: string, file: Readable, name: string): Promise<void>;
}

export async function readForm(
  { request, hold }: Pick<Call, "request" | "hold">,
  { mostBytes, onPiece, onField, onFile }: FormReader,
): Promise<void> {
  const parser = parserOf(request.headers.get("Content-Type") ?? "");
  const files: Readable[] = [];
  const reading: Promise<void>[] = [];
  let refusal: unknown = null;
  const refuse = (error: unknown) => {
    refusal ??= error;
    parser.destroy(error as Error);
  };
  // Without a listener, a later error would end the process.
  parser.on("error", () => {});
  parser.on("partsLimit", () => refuse(badRequest(`A form can have at most ${MOST_PARTS} parts.`)));
  parser.on("field", (part: string | undefined, value: string, _isNameCut: boolean, isCut: boolean) => {
    try {
      if (isCut) throw tooLarge(boundsOf(MOST_JSON_BYTES));
      hold(value.length);
      onField(part ?? "", value);
    } catch (error) {
      refuse(error);
    }
  });
  parser.on("file", (part: string | undefined, file: BusboyFileStream, name: string | undefined) => {
    files.push(file.on("error", () => {}));
    reading.push(onFile(part ?? "", file, name || "file").catch(refuse));
  });
  const body = passBytes(bodyOfRequest(request), { ...boundsOf(mostBytes), onPiece });
  const outcome = await pipeline(body, inSlices, parser).catch((error: unknown) => error);
  // A file that the parser has abandoned would never end by itself.
  if (outcome !== undefined) for (const file of files) file.destroy(outcome as Error);
  await Promise.all(reading);
  if (outcome instanceof Refusal) throw outcome;
  if (refusal !== null && refusal !== outcome) throw refusal;
  if (outcome !== undefined) throw badRequest("The form is malformed or incomplete.");
}

/** Splits large pieces, so that a refusal takes effect before the whole piece is parsed. */
async function* inSlices(pieces: AsyncIterable<Uint8Array>) {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) yield piece.subarray(at, at + SLICE_BYTES);
  }
}

function parserOf(type: string): InstanceType<typeof Busboy> {
  try {
    const limits = { parts: MOST_PARTS, fieldSize: MOST_JSON_BYTES, headerPairs: 32 };
    return new Busboy({ headers: { "content-type": type }, limits });
  } catch {
    throw badRequest("The form is malformed or incomplete.");
  }
}
